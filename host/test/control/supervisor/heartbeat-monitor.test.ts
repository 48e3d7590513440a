import { PassThrough } from 'node:stream'
import t from 'tap'
import { HeartbeatMonitor } from '../../../src/control/supervisor/heartbeat-monitor.ts'

function watched() {
  const source = new PassThrough()
  const pulse = new HeartbeatMonitor(source)
  /** So many seconds; in each the worker has shown `sign`. @returns the first reason, and in which second */
  const go = (seconds: number, sign: string, phase: Parameters<HeartbeatMonitor['tick']>[0] = 'serves') => {
    for (let second = 1; second <= seconds; second += 1) {
      if (sign) source.emit('data', Buffer.from(sign))
      const reason = pulse.tick(phase)
      if (reason !== undefined) return [second, reason]
    }
    return undefined
  }
  return { go }
}

t.test('a worker without a heartbeat for 10 s counts as stopped', async (t) => {
  const { go } = watched()
  t.equal(go(100, '+'), undefined)
  t.same(go(100, ''), [9, 'sent no heartbeat for 10 s'])
})

t.test('an event loop that is blocked for 40 s hangs, or for 10 s at the end', async (t) => {
  const { go } = watched()
  t.equal(go(1, '+'), undefined)
  t.same(go(100, '-'), [39, 'blocked its event loop for 40 s'])
  const other = watched()
  t.equal(other.go(1, '+'), undefined)
  t.same(other.go(100, '-', 'ends'), [9, 'blocked its event loop for 10 s'])
})

t.test('a blocked event loop is forgotten once it runs again', async (t) => {
  const { go } = watched()
  t.equal(go(30, '-'), undefined)
  t.equal(go(1, '+'), undefined)
  t.equal(go(30, '-'), undefined)
})

t.test('a worker without heartbeats is in a debugger, and a starting worker has a minute', async (t) => {
  t.equal(watched().go(1_000, ''), undefined)
  t.same(watched().go(1_000, '', 'starts'), [60, 'sent no heartbeat for 60 s'])
})
