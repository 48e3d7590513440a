import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const INTERVAL = 100
/** A probe ends without a response after this time, in milliseconds. */
const PATIENCE = 20_000

export interface Probed {
  readonly path: string
  /** The time of sending, by `performance`. */
  readonly at: number
  /** The status, or the reason for no response. */
  readonly said: number | string
  readonly milliseconds: number
}

const health = ['/health/live', '/health/ready']

/** Requests `paths` in turn, on a new connection each time, until the signal. */
export async function probe(
  url: string,
  signal: AbortSignal,
  paths: readonly string[] = health,
  headers: Readonly<Record<string, string>> = {},
): Promise<Probed[]> {
  const running: Promise<Probed>[] = []
  while (!signal.aborted) {
    running.push(probeOnce(url, paths[running.length % paths.length] as string, headers))
    await pause(INTERVAL)
  }
  return Promise.all(running)
}

export async function probeOnce(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Probed> {
  const at = performance.now()
  const said = await statusOf(url + path, headers)
  return { path, at, said, milliseconds: Math.round(performance.now() - at) }
}

function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const signal = AbortSignal.timeout(PATIENCE)
  const sent = get(url, { agent: new Agent(), signal, headers }, (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  sent.once('error', ({ message }) => resolve(message))
  return promise
}
