import { setTimeout as pause } from 'node:timers/promises'
import type { ApplicationState } from './application-state.ts'
import { askHost, type HostReply, type Patience } from './ask-host.ts'
import { controlSocket, controlSockets, isOfWorker } from './control-socket.ts'
import type { HostSilentError } from './host-errors.ts'
import type { Operation } from './operation.ts'
import { type InputArgument, type OperationName, type OutputOf, operations } from './operations.ts'

/** How often, and after which pauses, a host that ended before it began is looked for again. */
const ATTEMPTS = 20
const ATTEMPT_PAUSE = 50
/** How long a worker may be silent before a read leaves it out, in milliseconds. */
const SILENT_WORKER = 2_000
/** A supervisor has ended a silent worker by then, in milliseconds; the next one reads the lock file. */
const REPLACED_WORKER = 60_000

/**
 * Calls an operation of the host that serves the application in `directory`, or of each if there are
 * several; undefined without a host. A host that starts is waited for, and the end of one that stops,
 * both for a minute.
 * @throws {HostSilentError} without a sign of life
 * @throws {HostEndedError}
 * @throws {HostRefusedError} if a host refuses
 * @throws {StorageUnreachableError} if the host cannot reach its database
 * @throws {StillNeededError} if another host of the database needs what would be removed
 * @throws {NodeJS.ErrnoException} with the socket as its `path`, if this user may not connect to it
 */
export async function callRunningHost<Name extends OperationName>(
  directory: string,
  name: Name,
  ...[input = {}]: InputArgument<Name>
): Promise<OutputOf<Name> | undefined> {
  return (await ask(directory, name, input)) as OutputOf<Name> | undefined
}

/** @param firstSign time limit for the first sign of life, in milliseconds */
export async function stateWithin(
  directory: string,
  firstSign: number,
): Promise<ApplicationState | undefined> {
  return (await ask(directory, 'state', {}, firstSign)) as ApplicationState | undefined
}

async function ask(
  directory: string,
  name: OperationName,
  input: unknown,
  firstSign?: number,
): Promise<unknown> {
  const operation: Operation = operations[name]
  const askOne = (socket: string, patience: Patience) =>
    askAgain(socket, name, input, { firstSign, ...patience })
  if (operation.bySupervisor) {
    const output = await askAny([controlSocket(directory, 'supervisor')], askOne)
    if (output !== undefined) return output
  }
  const sockets = await controlSockets(directory)
  return operation.merge === undefined
    ? await askAny(sockets, askOne)
    : await askEvery(sockets, askOne, operation)
}

type AskOne = (socket: string, patience: Patience) => Promise<Exclude<HostReply, { again: Error }>>

const askAgain = async (socket: string, name: OperationName, input: unknown, patience: Patience) => {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await askHost(socket, name, input, patience)
    if (typeof reply === 'string' || !('again' in reply)) return reply
    if (attempt === ATTEMPTS) throw reply.again
    await pause(ATTEMPT_PAUSE)
  }
}

/** The first that serves, otherwise one that starts or stops. */
async function askAny(sockets: readonly string[], askOne: AskOne): Promise<unknown> {
  let silent: HostSilentError | undefined
  for (const waits of [false, true]) {
    let isHeld = false
    for (const socket of sockets) {
      const reply = await askOne(socket, { waits })
      if (reply === 'held') isHeld = true
      else if (typeof reply === 'string') continue
      else if ('silent' in reply) silent ??= reply.silent
      else return reply.body
    }
    if (silent !== undefined) throw silent
    if (!isHeld) return undefined
  }
  return undefined
}

/**
 * All at once. A host that does not respond is left out of a read. Anything else must be done by each,
 * so it waits until a worker responds or is replaced: its successor reads the lock file.
 */
async function askEvery(
  sockets: readonly string[],
  askOne: AskOne,
  { reads, isAwaited, merge }: Operation,
): Promise<unknown> {
  const isGlance = reads === true || isAwaited === true
  for (const waits of isGlance ? [false, true] : [true]) {
    const results = await Promise.allSettled(
      sockets.map((socket) => {
        const firstSign = isGlance ? SILENT_WORKER : REPLACED_WORKER
        return askOne(socket, isOfWorker(socket) ? { waits, firstSign } : { waits })
      }),
    )
    const replies = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const given = replies.filter((reply) => typeof reply === 'object')
    const bodies = given.flatMap((reply) => ('body' in reply ? [reply.body] : []))
    const silent = given.flatMap((reply) => ('silent' in reply ? [reply.silent] : []))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined && !(reads && bodies.length > 0)) throw failed.reason
    const [first] = silent
    if (first !== undefined && !(isGlance && bodies.length > 0)) throw first
    if (bodies.length > 0)
      return merge?.(
        bodies as never,
        silent.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
      )
    if (!replies.includes('held')) return undefined
  }
  return undefined
}
