import t from 'tap'
import { Random } from '../../../src/harness/random.ts'
import { Disk } from '../../../src/runs/power-loss/disk.ts'
import type { Operation } from '../../../src/runs/power-loss/operation.ts'

const root = '/application'
const file = `${root}/log`

/** What 200 losses of power after these operations leave of the file, each once. */
function leftOf(...operations: Operation[]): Set<string> {
  const left = new Set<string>()
  for (let seed = 0; seed < 200; seed += 1) {
    const disk = new Disk(root, new Random(seed))
    for (const operation of operations) disk.apply(operation)
    const content = disk.lose().get('log')
    left.add(Buffer.isBuffer(content) ? String(content).replaceAll('\0', '0') : 'no file')
  }
  return left
}

const open: Operation = {
  kind: 'open',
  path: file,
  descriptor: 3,
  create: true,
  truncate: false,
  append: false,
}
const write = (text: string, offset?: number): Operation => ({
  kind: 'write',
  path: file,
  descriptor: 3,
  bytes: Buffer.from(text),
  offset,
})
const sync = (path: string, begun: number, failed = false): Operation => ({
  kind: 'sync',
  path,
  failed,
  begun,
})

t.test('a file is complete after a sync of it and its folder', async (t) => {
  t.strictSame([...leftOf(open, write('a'), sync(file, 2), sync(root, 3))], ['a'])
})

t.test('without a sync of the folder it may be missing, without one of its own empty', async (t) => {
  t.strictSame([...leftOf(open, write('a'), sync(file, 2))].sort(), ['a', 'no file'])
  t.strictSame([...leftOf(open, write('a'), sync(root, 2))].sort(), ['', '0', 'a'])
})

t.test('a sync covers what was done before it began', async (t) => {
  const left = leftOf(open, sync(root, 1), write('a'), write('b'), sync(file, 3))
  t.strictSame([...left].sort(), ['a', 'a0', 'ab'])
})

t.test('unsynced data are torn at sectors', async (t) => {
  const [a, b] = ['a'.repeat(512), 'b'.repeat(512)]
  const left = leftOf(open, write(a + a), sync(file, 2), sync(root, 3), write(b + b, 0))
  t.strictSame([...left].sort(), [a + a, a + b, b + a, b + b])
})

t.test(
  'what a failed sync has dropped is not written by a later one, but by being written again',
  async (t) => {
    const begun = [open, sync(root, 1), write('a')]
    t.ok(leftOf(...begun, sync(file, 3, true), sync(file, 4)).has('0'))
    t.strictSame([...leftOf(...begun, sync(file, 3, true), write('a', 0), sync(file, 5))], ['a'])
    const beside = leftOf(...begun, sync(file, 3, true), write('b', 1), sync(file, 5))
    t.strictSame([...beside], ['ab'], 'the same page is written whole')
    const far = 'c'.repeat(4096)
    const elsewhere = leftOf(...begun, sync(file, 3, true), write(far, 4096), sync(file, 5))
    t.ok(elsewhere.has('0'.repeat(4096) + far), 'another page leaves it as it is')
  },
)

t.test('a rename replaces a file, at once or not at all', async (t) => {
  const temporary = `${root}/temporary`
  const left = leftOf(
    open,
    write('old'),
    sync(file, 2),
    sync(root, 3),
    { ...open, path: temporary },
    { ...write('new'), path: temporary } as Operation,
    sync(temporary, 6),
    { kind: 'rename', path: temporary, to: file },
  )
  t.strictSame([...left].sort(), ['new', 'old'])
})

t.test('an unsynced truncation comes before what is written after it', async (t) => {
  const left = leftOf(
    open,
    write('old'),
    sync(file, 2),
    sync(root, 3),
    { kind: 'resize', path: file, size: 0 },
    write('n', 0),
  )
  t.strictSame([...left].sort(), ['', 'n', 'old'])
})
