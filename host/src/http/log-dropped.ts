import type { Server } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/** Shortest time between two lines, in milliseconds. */
const INTERVAL = 60_000

/**
 * Logs that connections are closed because there are too many: the first at once, then their number
 * once a minute.
 */
export function logDropped(server: Server, log: Pick<FastifyBaseLogger, 'warn'>, interval = INTERVAL): void {
  const drops = counted((dropped) => {
    log.warn({ dropped }, `the host closes new connections: it has ${server.maxConnections}, the maximum`)
  }, interval)
  server.on('drop', () => drops.add())
  server.once('close', () => drops.stop())
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
  const refusals = counted((refused) => {
    log.warn(
      { refused, address },
      `the host refuses connections of an address that has ${most}, the maximum (server.maxConnectionsPerAddress). If it is your proxy, add it to server.trustProxy`,
    )
  }, interval)
  return (last) => {
    address = last
    refusals.add()
  }
}

/** Reports the first event at once, then the number of events of each interval that had any. */
function counted(report: (count: number) => void, interval: number) {
  let count = 0
  let timer: NodeJS.Timeout | undefined
  const turn = () => {
    timer = undefined
    if (count === 0) return
    report(count)
    count = 0
    timer = setTimeout(turn, interval).unref()
  }
  return {
    add() {
      count += 1
      if (timer === undefined) turn()
    },
    stop: () => clearTimeout(timer),
  }
}
