import t from 'tap'
import { retainedCode } from '../../src/doctor/check-running-host.ts'
import { retainedPackages } from '../../src/store/installed-state.ts'

const state = (loadedPackages: number) => ({
  pid: 1,
  host: '1.0.0',
  url: 'http://127.0.0.1:3000',
  engine: 'sqlite' as const,
  generation: 90,
  switches: 80,
  loadedPackages,
  modules: [
    { id: 'cart', version: '1.0.0', state: 'active' as const },
    { id: 'note', version: '1.0.0', state: 'disabled' as const },
  ],
})

t.test('replaced packages in memory are counted, and reported when there are many', async (t) => {
  t.equal(retainedPackages(state(1)), 0)
  t.equal(retainedPackages(state(20)), 19)
  t.strictSame(retainedCode(state(20)), [])
  t.match(retainedCode(state(21)), [{ id: 'code-retained', severity: 'info', packages: 20 }])
  t.match(retainedCode(state(41)), [
    { message: /40 replaced packages in memory, about 4 MB/, hint: /^Only a restart/ },
  ])
})
