import { readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Linux tables of TCP sockets, see proc_net_tcp in its documentation. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
/**
 * A connected socket (01), or one whose peer has finished sending (08): its send queue in
 * hexadecimal digits, and its inode.
 */
const CONNECTED = /: \S+ \S+ 0[18] ([\dA-F]+):\S+ \S+ \S+ +\d+ +\d+ (\d+)/g

/** Rows parsed per turn of the event loop: about a millisecond. */
const ROWS = 200

/**
 * The unacknowledged bytes of each TCP connection in the system's send queue, by the inode of the
 * socket. Empty on systems other than Linux.
 */
export async function socketSendQueues(): Promise<ReadonlyMap<string, number>> {
  const queues = new Map<string, number>()
  for (const path of TABLES) {
    const table = await readFile(path, 'latin1').catch(() => '')
    let rows = 0
    for (const [, bytes = '', inode = ''] of table.matchAll(CONNECTED)) {
      queues.set(inode, Number.parseInt(bytes, 16))
      rows += 1
      if (rows % ROWS === 0) await nextTurn()
    }
  }
  return queues
}

/** The inode of an open socket of this process; undefined if the system does not provide it. */
export function inodeOf(descriptor: number): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1]
  } catch {
    return undefined
  }
}
