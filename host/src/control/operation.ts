import type { ServerResponse } from 'node:http'
import type { Config } from '@mortise/application'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { OpenApplication, RunningApplication } from './open-application.ts'

const nothing = Type.Object({})

/** An operation that a command runs on an application. Input and output are JSON. */
export interface Operation<Input extends TSchema = TSchema> {
  /** `GET` on the control socket, without input. A host that does not respond now is left out. */
  readonly reads?: true
  /** A command without a host then leaves pending audit records alone. Implied by `reads`. */
  readonly changesNothing?: true
  readonly input?: Input
  /** How long a module may block the event loop before the host is given up, in milliseconds. */
  readonly holdsLoop?: number
  /** Takes as long as the caller wants, so no progress is reported. */
  readonly isAwaited?: true
  /** The supervisor of several hosts does it for them. */
  readonly bySupervisor?: true
  /**
   * Every host of the folder on this machine does it: the command makes one output of theirs. Absent
   * if any one of them does it for all.
   * @param silent the processes that are left out, since they do not respond
   */
  readonly merge?: (outputs: never, silent: readonly number[]) => unknown
}

/** At least one host gave its output. */
type OfEach<Output> = readonly [Output, ...Output[]]

/** An operation that only a running host does. */
export interface HostOperation<Input extends TSchema, Output> extends Operation<Input> {
  readonly needs: 'host'
  /** @param response the response on the control socket, if `run` begins it itself */
  run(host: RunningApplication, input: Static<Input>, response: ServerResponse): Promise<Output>
  merge?(outputs: OfEach<NoInfer<Output>>, silent: readonly number[]): NoInfer<Output>
}

/**
 * An operation of a running host, or of the command itself without a host; with `no host` of the
 * command only.
 */
export interface DatabaseOperation<Input extends TSchema, Output> extends Operation<Input> {
  readonly needs?: 'no host'
  /** Needs the host's own tables, which a command migrates first. */
  readonly migrates?: true
  run(application: OpenApplication, input: Static<Input>): Promise<Output>
  merge?(outputs: OfEach<NoInfer<Output>>, silent: readonly number[]): NoInfer<Output>
  /** The operation without a database: none is made then. */
  withoutDatabase?(config: Config, input: Static<Input>): Promise<NoInfer<Output>>
  /** The operation in a command, which then opens the database itself or not at all. */
  alone?(config: Config, input: Static<Input>): Promise<NoInfer<Output>>
}

export const hostOperation = <Output, Input extends TSchema = typeof nothing>(
  operation: Omit<HostOperation<Input, Output>, 'needs'>,
): HostOperation<Input, Output> => ({ needs: 'host', ...operation })

export const databaseOperation = <Output, Input extends TSchema = typeof nothing>(
  operation: DatabaseOperation<Input, Output>,
): DatabaseOperation<Input, Output> => operation

/** The operation is impossible now; the message says why. Nothing has changed. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}
