import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { controlSocket } from './control-socket.ts'

export interface ControlRequest {
  readonly method: 'GET' | 'POST'
  readonly path:
    | '/state'
    | '/openapi'
    | '/schema'
    | '/migrate'
    | '/activate'
    | '/undo'
    | '/backup'
    | '/retired'
    | '/purge'
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
 * Asks the host that runs the application in `directory`; undefined where none does.
 * @throws {HostGoneError}
 */
export function callRunningHost(
  directory: string,
  { method, path, body }: ControlRequest,
): Promise<ControlAnswer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<ControlAnswer | undefined>()
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const call = request({ socketPath: controlSocket(directory), method, path, headers, agent: false })
  call.once('response', (response) => {
    json(response).then(
      (answer) => resolve({ status: response.statusCode ?? 0, body: answer }),
      (error) => reject(gone(error)),
    )
  })
  call.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined)
    else reject(gone(error))
  })
  call.end(body === undefined ? undefined : JSON.stringify(body))
  return promise
}

const gone = (error: Error) =>
  new HostGoneError(`the running host ended before it had answered (${error.message})`, { cause: error })
