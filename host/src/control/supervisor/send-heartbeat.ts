import { url as debuggerUrl } from 'node:inspector'
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** Names the descriptor of the heartbeats. Without it nobody listens. */
export const HEARTBEAT_FD = 'MORTISE_PULSE'

/**
 * Writes a character to the supervisor at once and then each second: `+` if the event loop has turned
 * since the last one, otherwise `-`. A thread writes it, so only a stopped process writes nothing.
 */
export function sendHeartbeat(): void {
  const fd = Number(process.env[HEARTBEAT_FD])
  delete process.env[HEARTBEAT_FD]
  // A debugger may pause this process for any time.
  if (!fd || debuggerUrl() !== undefined) return
  // Non-blocking, so that no write waits for a stopped supervisor.
  const channel = new Socket({ fd, readable: false }).unref()
  // At once, so that a process that stops before the thread starts is also noticed.
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
