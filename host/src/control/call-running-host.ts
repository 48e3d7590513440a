import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { ConfigError } from '../settings.ts'
import { controlSocket, controlSockets } from './control-socket.ts'

export interface ControlRequest {
  readonly method: 'GET' | 'POST'
  readonly path:
    | '/state'
    | '/environment'
    | '/openapi'
    | '/schema'
    | '/migrate'
    | '/activate'
    | '/settle'
    | '/undo'
    | '/backup'
    | '/retired'
    | '/purge'
    | '/audit'
    | '/reactions'
    | '/replay'
    | '/discard'
    | '/switch'
    | '/hosts'
    | '/metrics'
    | '/settings'
    | '/restart'
  readonly body?: unknown
}

export interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

/** The running host has gone before it had answered: what it was asked for may have been done, or not. */
export class HostGoneError extends Error {
  override readonly name = 'HostGoneError'
}

/**
 * Asks the host that runs the application in `directory`; undefined where none does, or where all its processes have
 * just ended and are about to be replaced.
 * @throws {HostGoneError}
 * @throws {NodeJS.ErrnoException} with the socket as its `path`, where this user may not connect to it
 */
export async function callRunningHost(
  directory: string,
  asked: ControlRequest,
): Promise<ControlAnswer | undefined> {
  for (const socketPath of await controlSockets(directory)) {
    const answer = await call(socketPath, asked)
    if (answer !== undefined) return answer.status === 503 ? undefined : answer
  }
  return undefined
}

/** Undefined where nobody listens. */
function call(
  socketPath: string,
  { method, path, body }: ControlRequest,
): Promise<ControlAnswer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<ControlAnswer | undefined>()
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = request({ socketPath, method, path, headers, agent: false })
  sent.once('response', (response) => {
    json(response).then(
      (answer) => resolve({ status: response.statusCode ?? 0, body: answer }),
      (error) => reject(gone(error)),
    )
  })
  sent.once('error', (error: NodeJS.ErrnoException) => {
    if (isNobody(error)) resolve(undefined)
    else reject(notReached(error, socketPath))
  })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  return promise
}

/** Writes that the running host holds back until this is let go of, or its connection ends in another way. */
export interface HeldWrites {
  release(): void
}

/**
 * Has the running host hold back writes; undefined where none runs.
 * @param file the SQLite file that the caller takes for its database
 * @throws {Error} saying why it does not
 */
export async function holdWrites(directory: string, file: string): Promise<HeldWrites | undefined> {
  const headers = { 'content-type': 'application/json' }
  const socketPath = controlSocket(directory)
  const call = request({ socketPath, method: 'POST', path: '/hold', headers, agent: false })
  call.end(JSON.stringify({ file }))
  try {
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    if (response.statusCode === 200) {
      // That it ends is noticed by who asks for the next thing.
      response.resume().on('error', () => {})
      call.on('error', () => {})
      return { release: () => void call.destroy() }
    }
    const { reason } = (await json(response)) as { reason?: string }
    throw new ConfigError(reason ?? `the running host answered ${response.statusCode}`)
  } catch (error) {
    if (isNobody(error as Error)) return undefined
    throw error instanceof ConfigError ? error : notReached(error as Error, socketPath)
  }
}

const isNobody = ({ code = '' }: NodeJS.ErrnoException) =>
  ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code)

function notReached(error: NodeJS.ErrnoException, socketPath: string): Error {
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM'
  return isDenied ? Object.assign(error, { path: socketPath }) : gone(error)
}

const gone = (error: Error) =>
  new HostGoneError(`the running host ended before it had answered (${error.message})`, { cause: error })
