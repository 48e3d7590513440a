import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { StillNeededError, StorageUnreachableError } from '@mortise/storage'
import { http } from '../config/node-http.ts'
import { ConfigError } from '../config/settings.ts'
import type { ApplicationState } from './application-state.ts'
import { controlSocket, controlSockets } from './control-socket.ts'
import { HostEndedError, HostRefusedError, HostSilentError } from './host-errors.ts'
import { hostProcess, processOf } from './host-process.ts'
import type { Operation } from './operation.ts'
import { type InputArgument, type OperationName, type OutputOf, operations } from './operations.ts'
import { PHASE_HEADER, type Phase } from './phase.ts'
import { forgetPhase, ResponseDeadline } from './response-deadline.ts'

/** How often, and after which pauses, a host that ended before it began is looked for again. */
const ATTEMPTS = 20
const ATTEMPT_PAUSE = 50

/**
 * Calls an operation of the host that serves the application in `directory`; undefined without a
 * host, or if all its processes have just ended and are about to be replaced. A host ignores a
 * request that was given up before the host read it. A host that starts is waited for, and the end
 * of one that stops, both for a minute.
 * @throws {HostSilentError} without a sign of life
 * @throws {HostEndedError}
 * @throws {HostRefusedError} if the host refuses
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
  for (const socketPath of await controlSockets(directory)) {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await askOnce(socketPath, name, input, firstSign)
      if (answer === 'nobody') break
      if (!('again' in answer)) return answer.body
      if (attempt === ATTEMPTS) throw answer.again
      await pause(ATTEMPT_PAUSE)
    }
  }
  return undefined
}

type Answer = 'nobody' | { readonly body: unknown } | { readonly again: Error }

/** @returns `nobody` if no host listens there, `again` if the host ends and has done nothing */
async function askOnce(
  socketPath: string,
  name: OperationName,
  input: unknown,
  firstSign?: number,
): Promise<Answer> {
  const { sent, answered, hasBegun } = begin(socketPath, name, input, firstSign)
  try {
    const response = await answered
    if (response === undefined) {
      forgetPhase(socketPath)
      return 'nobody'
    }
    const body = await json(response).catch((error) => Promise.reject(gone(error)))
    if (response.statusCode === 200) return { body }
    const { stopping, ...refused } = body as Refusal
    if (response.statusCode !== 503) throw refusal(response.statusCode ?? 0, refused)
    return stopping ? { again: gone(new Error(refused.reason)) } : { body: undefined }
  } catch (error) {
    if (hasBegun() || !(error instanceof HostEndedError) || error instanceof HostSilentError) throw error
    return { again: error }
  } finally {
    sent.destroy()
  }
}

function refusal(
  status: number,
  { reason = `it answered ${status}`, module, stillNeeded, unreachable, pid }: Refusal,
): Error {
  if (status === 504) return new HostSilentError(processOf(pid))
  if (unreachable) return new StorageUnreachableError(reason)
  if (stillNeeded) return new StillNeededError(reason)
  return new HostRefusedError(status, module === undefined ? reason : `${module}: ${reason}`)
}

interface Refusal {
  readonly reason?: string
  readonly module?: string
  readonly stillNeeded?: boolean
  readonly unreachable?: boolean
  readonly pid?: number
  /** The host stops, and has not done it. */
  readonly stopping?: boolean
}

/** Sends the body after the host has read the head (`100 Continue`); hears its signs of life. */
function begin(socketPath: string, name: OperationName, input: unknown, firstSign?: number) {
  const operation: Operation = operations[name]
  const text = operation.reads ? '' : JSON.stringify(input)
  const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const headers = { expect: '100-continue', ...(!operation.reads && type) }
  const method = operation.reads ? 'GET' : 'POST'
  const sent = http.request({ socketPath, method, path: `/${name}`, headers, agent: false })
  const silence = new ResponseDeadline(socketPath, operation, (error) => sent.destroy(error), firstSign)
  const answered = new Promise<IncomingMessage | undefined>((resolve, reject) => {
    sent.once('response', resolve)
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (isNobody(error)) resolve(undefined)
      else reject(notReached(error, socketPath))
    })
  })
  let begun = false
  sent.once('continue', () => {
    begun = true
    forgetPhase(socketPath)
    sent.end(text)
  })
  sent.on('information', ({ headers }) => silence.extend(headers[PHASE_HEADER] as Phase | undefined))
  sent.once('close', () => silence.end())
  sent.flushHeaders()
  return { sent, answered, silence, hasBegun: () => begun }
}

/** The running host's write pause. It lasts until its release or the end of its connection. */
export interface PausedWrites {
  release(): void
}

/**
 * Pauses writes in the running host; undefined without a host. Call `keep` every few seconds.
 * @param file the SQLite file that the caller takes for its database
 * @throws {Error} with the reason of a refusal
 */
export async function pauseWrites(directory: string, file: string): Promise<PausedWrites | undefined> {
  const { sent, answered, silence } = begin(controlSocket(directory), 'hold', { file })
  const response = await answered
  if (response === undefined) return undefined
  if (response.statusCode === 200) {
    silence.end()
    // The next call notices the end of the connection.
    response.resume().on('error', () => {})
    return { release: () => void sent.destroy() }
  }
  const { reason } = (await json(response)) as { reason?: string }
  throw new ConfigError(reason ?? `the running host answered ${response.statusCode}`)
}

const isNobody = ({ code = '' }: NodeJS.ErrnoException) =>
  ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code)

function notReached(error: NodeJS.ErrnoException, socketPath: string): Error {
  if (error instanceof HostEndedError) return error
  // The socket's queue of waiting connections is full.
  if (error.code === 'EAGAIN') return new HostSilentError(hostProcess(socketPath))
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM'
  return isDenied ? Object.assign(error, { path: socketPath }) : gone(error)
}

const gone = (error: Error) =>
  new HostEndedError(`the running host ended before it answered (${error.message})`, { cause: error })
