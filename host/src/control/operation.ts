import type { ServerResponse } from 'node:http'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { Config } from '../config/config.ts'
import type { OpenApplication, RunningApplication } from './open-application.ts'
import type { ControlRequest, ControlResponse, Pool } from './pool.ts'

const nothing = Type.Object({})

/** What a command asks of an application. Input and output are JSON. */
export interface Operation<Input extends TSchema = TSchema> {
  /** It only looks, and takes no input: `GET` on the control socket, and asked again of another process. */
  readonly reads?: true
  /** It changes nothing, so a command that does it alone leaves waiting audit records where they are. `reads` implies it. */
  readonly changesNothing?: true
  readonly input?: Input
  /**
   * For how long code of a module may hold the event loop meanwhile, in milliseconds: nobody gives the host up until
   * then. A process that is stopped holds nothing.
   */
  readonly holdsLoop?: number
  /** It takes as long as the caller wants, who is not told that it takes long. */
  readonly isAwaited?: true
  /** How several processes do it; absent where any one of them does it for all. */
  readonly inPool?: (pool: Pool, request: ControlRequest) => Promise<ControlResponse>
}

/** What only a running host does. */
export interface HostOperation<Input extends TSchema, Output> extends Operation<Input> {
  readonly needs: 'host'
  /** @param response the answer on the control socket, where `run` begins it itself */
  run(host: RunningApplication, input: Static<Input>, response: ServerResponse): Promise<Output>
}

/** What a running host does, and the command itself where none runs; with `no host` the latter only. */
export interface DatabaseOperation<Input extends TSchema, Output> extends Operation<Input> {
  readonly needs?: 'no host'
  /** It needs the host's own tables, which a command first brings up. */
  readonly migrates?: true
  run(application: OpenApplication, input: Static<Input>): Promise<Output>
  /** The same where there is no database yet: none is made then. */
  withoutDatabase?(config: Config, input: Static<Input>): Promise<NoInfer<Output>>
  /** The same by a command, which then opens the database itself or not at all. */
  alone?(config: Config, input: Static<Input>): Promise<NoInfer<Output>>
}

export const hostOperation = <Output, Input extends TSchema = typeof nothing>(
  operation: Omit<HostOperation<Input, Output>, 'needs'>,
): HostOperation<Input, Output> => ({ needs: 'host', ...operation })

export const databaseOperation = <Output, Input extends TSchema = typeof nothing>(
  operation: DatabaseOperation<Input, Output>,
): DatabaseOperation<Input, Output> => operation

/** It cannot be done now; the message says why. Nothing has changed. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}
