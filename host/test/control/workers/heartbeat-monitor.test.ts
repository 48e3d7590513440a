import { PassThrough } from 'node:stream'
import t from 'tap'
import { HeartbeatMonitor } from '../../../src/control/workers/heartbeat-monitor.ts'

function watched() {
  const source = new PassThrough()
  const pulse = new HeartbeatMonitor(source)
  /** So many seconds, in each of which the worker has shown `sign`. @returns the first reason, and in which second */
  const go = (seconds: number, sign: string, phase: Parameters<HeartbeatMonitor['tick']>[0] = 'serves') => {
    for (let second = 1; second <= seconds; second += 1) {
      if (sign) source.emit('data', Buffer.from(sign))
      const reason = pulse.tick(phase)
      if (reason !== undefined) return [second, reason]
    }
    return undefined
  }
  return { pulse, go }
}

t.test('a worker that shows nothing for 10 s is stopped', async (t) => {
  const { pulse, go } = watched()
  t.equal(go(100, '+'), undefined)
  t.same(go(100, ''), [9, 'gave no sign of life for 10 s'])
  t.equal(pulse.silentFor, 10)
})

t.test('an event loop that does not turn for 40 s hangs, and for 10 s where it is to end', async (t) => {
  const { go } = watched()
  t.equal(go(1, '+'), undefined)
  t.same(go(100, '-'), [39, 'held its event loop for 40 s'])
  const other = watched()
  t.equal(other.go(1, '+'), undefined)
  t.same(other.go(100, '-', 'ends'), [9, 'held its event loop for 10 s'])
})

t.test('a pause of the event loop is forgotten when it turns', async (t) => {
  const { pulse, go } = watched()
  t.equal(go(30, '-'), undefined)
  t.equal(go(1, '+'), undefined)
  t.equal(pulse.silentFor, 1)
  t.equal(go(30, '-'), undefined)
})

t.test('a worker of an older version shows nothing, and one that starts has a minute to', async (t) => {
  t.equal(watched().go(1_000, ''), undefined)
  t.same(watched().go(1_000, '', 'starts'), [60, 'gave no sign of life for 60 s'])
})
