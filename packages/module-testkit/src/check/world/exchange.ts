import type { TestCaller } from '../../test-caller.ts'
import type { Ids } from './ids.ts'
import type { Route } from './watch-module.ts'

/** A caller with what they own. */
export interface Person {
  readonly name: string
  readonly caller: TestCaller
  readonly ids: Ids
  /** As the module knows the person, once it does. */
  id?: string | undefined
  /** Part of each text that the person writes. */
  readonly mark: string
}

/** One request and its response. */
export interface Exchange {
  readonly caller: Person
  readonly route: Route
  /** With the query, without the base path. */
  readonly url: string
  readonly body: unknown
  /** 0: none within the time. */
  readonly status: number
  readonly text: string
  readonly json: unknown
  readonly headers: Readonly<Record<string, unknown>>
  /** The statements and events of it. */
  readonly steps: readonly string[]
  /** The stack of the error behind a 500. */
  readonly error: string | undefined
}

export interface Request {
  /** Instead of the route's path. */
  readonly path?: string
  readonly query?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Whether it ran a statement that changes the module's rows, or emitted an event. */
export const writes = ({ steps }: Pick<Exchange, 'steps'>): string | undefined =>
  steps.find((step) => /^(insert|update|delete|replace|event)\b/i.test(step) && !/\bmortise_/.test(step))

export const isSuccess = ({ status }: Pick<Exchange, 'status'>): boolean => status >= 200 && status < 300
