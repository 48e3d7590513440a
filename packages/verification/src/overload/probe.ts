import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const INTERVAL = 100
/** After so many milliseconds a probe ends without an answer. */
const PATIENCE = 20_000

export interface Probed {
  readonly path: string
  /** The status, or why there is none. */
  readonly said: number | string
  readonly milliseconds: number
}

/** Probes health on a new connection each time, until the signal. */
export async function probe(url: string, signal: AbortSignal): Promise<Probed[]> {
  const running: Promise<Probed>[] = []
  while (!signal.aborted) {
    running.push(once(url, running.length % 2 === 0 ? '/health/live' : '/health/ready'))
    await pause(INTERVAL)
  }
  return Promise.all(running)
}

async function once(url: string, path: string): Promise<Probed> {
  const begun = performance.now()
  const said = await answer(url + path)
  return { path, said, milliseconds: Math.round(performance.now() - begun) }
}

function answer(url: string): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const sent = get(url, { agent: new Agent(), signal: AbortSignal.timeout(PATIENCE) }, (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  sent.once('error', ({ message }) => resolve(message))
  return promise
}
