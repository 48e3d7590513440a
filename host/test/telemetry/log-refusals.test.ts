import { mock } from 'node:test'
import t from 'tap'
import { logRefusals } from '../../src/telemetry/log-refusals.ts'

t.test('the beginning and the end are a line each, and what is between a line in a minute', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const tick = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      now += 1000
      mock.timers.tick(1000)
    }
  }
  const lines: unknown[] = []
  const log = {
    warn: (...line: unknown[]) => lines.push(line),
    info: (...line: unknown[]) => lines.push(line),
  }
  const storage = { refusal: undefined as string | undefined, refused: 0 }
  const stop = logRefusals(storage, log as never, 'writes', 'reads continue')
  tick(5)
  storage.refusal = 'the disk is full'
  storage.refused = 1
  tick(10)
  storage.refused = 5000
  tick(55)
  storage.refusal = undefined
  tick(5)
  storage.refusal = 'the disk is full'
  stop()
  tick(5)
  t.strictSame(lines, [
    ['the host refuses writes, and reads continue: the disk is full'],
    [{ refused: 4999 }, 'the host still refuses writes: the disk is full'],
    [{ refused: 5000 }, 'the host accepts writes again'],
  ])
})
