import t from 'tap'
import { type ApplicationState, mergeStates } from '../../src/control/application-state.ts'

const state = (pid: number, generation: number, reason?: string): ApplicationState => ({
  ...{
    pid,
    supervisor: 4711,
    generation,
    host: '1.0.0',
    url: 'http://127.0.0.1:3000',
    engine: 'postgres',
    switches: pid,
    loadedPackages: generation,
  },
  modules: [
    {
      id: 'note',
      version: '1.0.0',
      ...(reason ? { state: 'failed' as const, reason } : { state: 'active' }),
    },
  ],
})

t.test('the readiness of several processes is that of the last one', async (t) => {
  t.match(mergeStates([state(1, 8), state(2, 7)]), {
    ...{ pid: 4711, generation: 7, switches: 2, loadedPackages: 8 },
    modules: [{ state: 'active' }],
    workers: [
      { pid: 1, generation: 8 },
      { pid: 2, generation: 7 },
    ],
  })
})

t.test('a module that fails in one process has failed', async (t) => {
  const reasonIn = (...states: [ApplicationState, ...ApplicationState[]]) => mergeStates(states).modules[0]
  t.match(reasonIn(state(1, 7), state(2, 7, 'no luck')), {
    state: 'failed',
    reason: 'in 1 of 2 processes: no luck',
  })
  t.match(reasonIn(state(1, 7, 'no luck'), state(2, 7, 'no luck')), { reason: 'no luck' })
})
