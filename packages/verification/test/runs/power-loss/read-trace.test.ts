import t from 'tap'
import { readTrace } from '../../../src/runs/power-loss/read-trace.ts'

const hex = (text: string) =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const path = (text: string) => `<${hex(text)}>`
const read = (...lines: string[]) => readTrace(lines.join('\n'), '/app')

t.test('reads files that are opened, written, renamed and synced', async (t) => {
  const operations = read(
    `1 openat(AT_FDCWD${path('/')}, "${hex('/app/a')}", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0666) = 5${path('/app/a')}`,
    `1 write(5${path('/app/a')}, "${hex('one')}", 3) = 3`,
    `1 pwrite64(5${path('/app/a')}, "${hex('two')}", 3, 100) = 2`,
    `1 writev(5${path('/app/a')}, [{iov_base="${hex('x')}", iov_len=1}, {iov_base="${hex('y')}", iov_len=1}], 2) = 2`,
    `1 fsync(5${path('/app/a')}) = 0`,
    `1 rename("${hex('/app/a')}", "${hex('/app/b')}") = 0`,
    `1 mkdir("${hex('/app/c')}", 0777) = -1 EEXIST (File exists)`,
    `1 write(6${path('/elsewhere')}, "${hex('no')}", 2) = 2`,
    `1 write(6${path('/app/gone')}(deleted), "${hex('no')}", 2) = 2`,
  )
  const one = { path: '/app/a', descriptor: 5 }
  t.strictSame(operations, [
    { kind: 'open', ...one, create: true, truncate: true, append: false },
    { kind: 'write', ...one, bytes: Buffer.from('one'), offset: undefined },
    { kind: 'write', ...one, bytes: Buffer.from('tw'), offset: 100 },
    { kind: 'write', ...one, bytes: Buffer.from('xy'), offset: undefined },
    { kind: 'sync', path: '/app/a', failed: false, begun: 4 },
    { kind: 'rename', path: '/app/a', to: '/app/b' },
  ])
})

t.test('a response stands where its call began, a sync where it returned', async (t) => {
  const operations = read(
    `1 fdatasync(5${path('/app/a')} <unfinished ...>`,
    `2 write(7${path('socket:[12]')}, "${hex('HTTP/1.1 201 Created')}", 20 <unfinished ...>`,
    `3 unlink("${hex('/app/b')}") = 0`,
    '2 <... write resumed>)             = 20',
    '1 <... fdatasync resumed>)         = -1 EIO (Input/output error) (INJECTED)',
  )
  t.strictSame(operations, [
    { kind: 'response', text: 'HTTP/1.1 201 Created' },
    { kind: 'remove', path: '/app/b' },
    { kind: 'sync', path: '/app/a', failed: true, begun: 0 },
  ])
})
