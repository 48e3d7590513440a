import t from 'tap'
import { rememberSharedObjects } from '../../src/modules/shared-objects.ts'

const shared = globalThis as unknown as Record<string, unknown>
const prototype = Object.prototype as unknown as Record<string, unknown>

t.test('each change of what all code of the process shares is reported', async (t) => {
  const { parse } = JSON
  const { fetch } = globalThis
  const { flat } = Array.prototype
  const listener = () => {}
  const changes: [change: () => void, undo: () => void, reported: string][] = [
    [
      () => Object.assign(prototype, { shout: 1 }),
      () => delete prototype.shout,
      'adds Object.prototype.shout',
    ],
    [
      () => Object.assign(JSON, { parse: () => 1 }),
      () => Object.assign(JSON, { parse }),
      'replaces JSON.parse',
    ],
    [
      () => Object.assign(shared, { fetch: () => 1 }),
      () => Object.assign(shared, { fetch }),
      'replaces fetch',
    ],
    [
      () => Reflect.deleteProperty(Array.prototype, 'flat'),
      () =>
        Object.defineProperty(Array.prototype, 'flat', { value: flat, writable: true, configurable: true }),
      'removes Array.prototype.flat',
    ],
    [
      () => process.on('uncaughtException', listener),
      () => process.off('uncaughtException', listener),
      'adds a listener for "uncaughtException" to the process',
    ],
  ]
  for (const [change, undo, reported] of changes) {
    const changeOfShared = rememberSharedObjects()
    change()
    const found = changeOfShared()
    undo()
    t.equal(found, `it ${reported}`)
    t.equal(changeOfShared(), undefined)
  }
})

t.test('a global of its own is no change', async (t) => {
  const changeOfShared = rememberSharedObjects()
  shared.mine = () => {}
  t.equal(changeOfShared(), undefined)
  delete shared.mine
})
