import type { TestCaller } from '../../test-caller.ts'
import type { SeenStep } from '../watch/seen.ts'
import type { Ids } from './ids.ts'
import type { Route } from './watch-module.ts'

/** A caller with what they own. */
export interface Person {
  readonly name: string
  readonly caller: TestCaller
  readonly ids: Ids
  /** Ids of others that they have sent in a body. */
  readonly given: Set<string>
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
  /** In milliseconds. */
  readonly took: number
  /** 0: none within the time. */
  readonly status: number
  readonly text: string
  readonly json: unknown
  readonly headers: Readonly<Record<string, unknown>>
  /** The statements and events of it. */
  readonly steps: readonly SeenStep[]
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
export const writes = ({ steps }: Pick<Exchange, 'steps'>): string | undefined => steps.find(isWrite)?.text

const isWrite = ({ text }: SeenStep) =>
  /^(insert|update|delete|replace|event)\b/i.test(text) && !/\bmortise_/.test(text)

/** Whether one of its own statements changed a row, as far as their results show, or it emitted an event. */
export const wrote = ({ steps }: Pick<Exchange, 'steps'>): boolean =>
  steps.some(
    (step) => isWrite(step) && step.result !== 0 && !(Array.isArray(step.result) && step.result.length === 0),
  )

export const isSuccess = ({ status }: Pick<Exchange, 'status'>): boolean => status >= 200 && status < 300
