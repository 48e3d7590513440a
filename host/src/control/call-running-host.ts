import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { ConfigError } from '../config/settings.ts'
import { controlSocket, controlSockets } from './control-socket.ts'
import { HostGoneError, HostSilentError } from './host-gone-error.ts'
import { hostProcess, processOf } from './host-process.ts'
import { Silence } from './silence.ts'

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
    | '/keep'
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

/**
 * Asks the host that runs the application in `directory`; undefined where none does, or where all its processes have
 * just ended and are about to be replaced. A host does nothing for a request that was given up before it came to it.
 * @param firstSign how long it may take to be heard of, in milliseconds, where that is not the usual limit
 * @throws {HostSilentError} where it gives no sign of life
 * @throws {HostGoneError}
 * @throws {NodeJS.ErrnoException} with the socket as its `path`, where this user may not connect to it
 */
export async function callRunningHost(
  directory: string,
  asked: ControlRequest,
  firstSign?: number,
): Promise<ControlAnswer | undefined> {
  for (const socketPath of await controlSockets(directory)) {
    const answer = await call(socketPath, asked, firstSign)
    if (answer?.status === 504) {
      const { pid } = answer.body as { pid?: number }
      throw new HostSilentError(processOf(pid))
    }
    if (answer !== undefined) return answer.status === 503 ? undefined : answer
  }
  return undefined
}

/** Undefined where nobody listens. */
async function call(
  socketPath: string,
  { method, path, body = {} }: ControlRequest,
  firstSign?: number,
): Promise<ControlAnswer | undefined> {
  const { sent, answered } = begin(socketPath, method, path, method === 'GET' ? undefined : body, firstSign)
  try {
    const response = await answered
    if (response === undefined) return undefined
    return {
      status: response.statusCode ?? 0,
      body: await json(response).catch((error) => Promise.reject(gone(error))),
    }
  } finally {
    sent.destroy()
  }
}

/**
 * Sends the body only once the host has heard the rest (`100 Continue`), and listens for its signs of life (`102
 * Processing`).
 */
function begin(
  socketPath: string,
  method: ControlRequest['method'],
  path: string,
  body: unknown,
  firstSign?: number,
): {
  readonly sent: ClientRequest
  readonly answered: Promise<IncomingMessage | undefined>
  readonly silence: Silence
} {
  const text = body === undefined ? '' : JSON.stringify(body)
  const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const headers = { expect: '100-continue', ...(body !== undefined && type) }
  const sent = request({ socketPath, method, path, headers, agent: false })
  const silence = new Silence(socketPath, path, (error) => sent.destroy(error), firstSign)
  const answered = new Promise<IncomingMessage | undefined>((resolve, reject) => {
    sent.once('response', resolve)
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (isNobody(error)) resolve(undefined)
      else reject(notReached(error, socketPath))
    })
  })
  sent.once('continue', () => sent.end(text))
  sent.on('information', () => silence.heard())
  sent.once('close', () => silence.end())
  sent.flushHeaders()
  return { sent, answered, silence }
}

/** How often a holder of writes says that it is at work, in milliseconds. */
const KEEP_EVERY = 5_000

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
  const { sent, answered, silence } = begin(controlSocket(directory), 'POST', '/hold', { file })
  const response = await answered
  if (response === undefined) return undefined
  if (response.statusCode === 200) {
    silence.end()
    // That it ends is noticed by who asks for the next thing.
    response.resume().on('error', () => {})
    const keep = { method: 'POST', path: '/keep' } as const
    const timer = setInterval(() => void callRunningHost(directory, keep).catch(() => {}), KEEP_EVERY).unref()
    sent.once('close', () => clearInterval(timer))
    return { release: () => void sent.destroy() }
  }
  const { reason } = (await json(response)) as { reason?: string }
  throw new ConfigError(reason ?? `the running host answered ${response.statusCode}`)
}

const isNobody = ({ code = '' }: NodeJS.ErrnoException) =>
  ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code)

function notReached(error: NodeJS.ErrnoException, socketPath: string): Error {
  if (error instanceof HostGoneError) return error
  // As many wait to be heard as may.
  if (error.code === 'EAGAIN') return new HostSilentError(hostProcess(socketPath))
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM'
  return isDenied ? Object.assign(error, { path: socketPath }) : gone(error)
}

const gone = (error: Error) =>
  new HostGoneError(`the running host ended before it had answered (${error.message})`, { cause: error })
