import type { Server } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/** Shortest time between two lines, in milliseconds. */
const INTERVAL = 60_000

/**
 * Logs that connections are closed because there are too many: the first at once, then their number
 * once a minute.
 */
export function logDropped(server: Server, log: Pick<FastifyBaseLogger, 'warn'>, interval = INTERVAL): void {
  const counted = new Counted((dropped) => {
    log.warn({ dropped }, `the host closes new connections: it has ${server.maxConnections}, the maximum`)
  }, interval)
  server.on('drop', () => counted.add())
  server.once('close', () => counted.stop())
}

/**
 * Logs connections refused because their address has `most`: the first at once, then once a minute
 * their number and the last address.
 * @returns the function to call for each of them
 */
export function logRefusedAddresses(
  most: number,
  log: Pick<FastifyBaseLogger, 'warn'>,
  interval = INTERVAL,
): (address: string) => void {
  let address = ''
  const counted = new Counted((refused) => {
    log.warn(
      { refused, address },
      `the host refuses connections of an address that has ${most}, the maximum (server.maxConnectionsPerAddress). If it is your proxy, add it to server.trustProxy`,
    )
  }, interval)
  return (last) => {
    address = last
    counted.add()
  }
}

/** Reports the first event at once, then the number of events of each interval that had any. */
class Counted {
  readonly #tell: (count: number) => void
  readonly #interval: number
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (count: number) => void, interval: number) {
    this.#tell = tell
    this.#interval = interval
  }

  add(): void {
    this.#count += 1
    if (this.#timer === undefined) this.#turn()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #turn(): void {
    this.#timer = undefined
    if (this.#count === 0) return
    this.#tell(this.#count)
    this.#count = 0
    this.#timer = setTimeout(() => this.#turn(), this.#interval).unref()
  }
}
