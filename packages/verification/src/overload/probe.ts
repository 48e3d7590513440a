import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const INTERVAL = 100
/** A liveness probe that takes longer has failed, in milliseconds. */
const LIMIT = 1_000
/** A probe that itself stood still for so long says nothing of the host: the machine had no time for either. */
const STALL = 150

/** Probes health on a new connection each time, until the signal. */
export async function probe(
  url: string,
  signal: AbortSignal,
): Promise<{ probes: number; failures: string[] }> {
  const failures: string[] = []
  const running: Promise<void>[] = []
  let stalledAt = Number.NEGATIVE_INFINITY
  let probes = 0
  while (!signal.aborted) {
    running.push(once(probes % 2 === 0 ? '/health/live' : '/health/ready'))
    const begun = performance.now()
    await pause(INTERVAL)
    if (performance.now() - begun > INTERVAL + STALL) stalledAt = performance.now()
  }
  await Promise.all(running)
  return { probes, failures }

  async function once(path: string): Promise<void> {
    const begun = performance.now()
    const said = await answer(url + path)
    if (said === 200) probes += 1
    else if (stalledAt < begun)
      failures.push(`${path}: ${said} after ${Math.round(performance.now() - begun)} ms`)
  }
}

function answer(url: string): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const sent = get(url, { agent: new Agent(), signal: AbortSignal.timeout(LIMIT) }, (response) => {
    response.resume()
    resolve(response.statusCode ?? 0)
  })
  sent.once('error', ({ message }) => resolve(message))
  return promise
}
