import { url as debuggerUrl } from 'node:inspector'
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** Names the descriptor on which a worker shows its parent that it lives: the parent may be older, and listen to none. */
export const HEARTBEAT_FD = 'MORTISE_PULSE'

/**
 * Writes a character to the parent at once, and then each second: `+` where the event loop has turned since the last, otherwise `-`. A
 * thread does it, so only a process that is stopped writes none.
 */
export function sendHeartbeat(): void {
  const fd = Number(process.env[HEARTBEAT_FD])
  delete process.env[HEARTBEAT_FD]
  // Who debugs this process holds it as they like.
  if (!fd || debuggerUrl() !== undefined) return
  // So that no write waits for a parent that is stopped.
  const channel = new Socket({ fd, readable: false }).unref()
  // At once: one that stops before the thread has begun is known as well.
  channel.write('+')
  process.once('exit', () => channel.destroy())
  const beats = new Int32Array(new SharedArrayBuffer(4))
  setInterval(() => Atomics.add(beats, 0, 1), 250).unref()
  new Worker(writer, { eval: true, workerData: { fd, beats } }).unref()
}

const writer = `
  const { writeSync } = require('node:fs')
  const { fd, beats } = require('node:worker_threads').workerData
  let last = -1
  setInterval(() => {
    const beat = Atomics.load(beats, 0)
    try { writeSync(fd, beat === last ? '-' : '+') } catch {}
    last = beat
  }, 1000)`
