import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { acquireFileLock } from '../../src/files/file-lock.ts'

const run = promisify(execFile)

t.test('a lock is held once, and again after its release', async (t) => {
  const file = join(t.testdir(), 'app.lock')
  const lock = acquireFileLock(file)
  t.ok(lock)
  t.equal(acquireFileLock(file), undefined)
  t.equal(acquireFileLock(file), undefined, 'a failed attempt does not drop the lock')
  t.equal(statSync(file).mode & 0o777, 0o600)
  lock?.release()
  const again = acquireFileLock(file)
  t.ok(again)
  again?.release()
})

/** A process that tries to take the lock, says "held" or "busy", and lives on. */
async function attemptElsewhere(t: Test, file: string) {
  const module = new URL('../../src/files/file-lock.ts', import.meta.url)
  const source = `
    const { acquireFileLock } = await import(${JSON.stringify(module)})
    globalThis.lock = acquireFileLock(${JSON.stringify(file)})
    console.log(globalThis.lock ? 'held' : 'busy')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [output] = await once(child.stdout, 'data')
  return { child, said: String(output).trim() }
}

t.test('a lock of another process holds until that process dies, even by SIGKILL', async (t) => {
  const file = join(t.testdir(), 'app.lock')
  const { child, said } = await attemptElsewhere(t, file)
  t.equal(said, 'held')
  t.equal(acquireFileLock(file), undefined)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = acquireFileLock(file)
  t.ok(lock)
  lock?.release()
})

t.test('of two processes that try at the same time, one takes the lock', async (t) => {
  const file = join(t.testdir(), 'app.lock')
  const module = new URL('../../src/files/file-lock.ts', import.meta.url)
  const source = `
    const { acquireFileLock } = await import(${JSON.stringify(module)})
    const now = () => Number(process.hrtime.bigint())
    const attempts = []
    for (let number = 0; number < 3000; number += 1) {
      const from = now()
      const lock = acquireFileLock(${JSON.stringify(file)})
      if (!lock) attempts.push([from, now(), 'busy'])
      lock?.release()
      if (lock) attempts.push([from, now(), 'held'])
    }
    console.log(JSON.stringify(attempts))`
  type Attempts = [from: number, to: number, outcome: 'busy' | 'held'][]
  const [ours, others] = (await Promise.all(
    [1, 2].map(async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', source], {
        maxBuffer: 2 ** 24,
      })
      return JSON.parse(stdout)
    }),
  )) as [Attempts, Attempts]
  const unexplained = (attempts: Attempts, other: Attempts) => {
    const held = other.filter(([, , outcome]) => outcome === 'held')
    return attempts.filter(
      ([from, to, outcome]) => outcome === 'busy' && !held.some(([start, end]) => start < to && from < end),
    )
  }
  t.same(unexplained(ours, others), [], 'the other process held the lock during each failed attempt')
  t.same(unexplained(others, ours), [])
})

t.test('a second attempt in the holding process does not free the lock', async (t) => {
  const file = join(t.testdir(), 'app.lock')
  const lock = acquireFileLock(file)
  t.equal(acquireFileLock(file), undefined)
  t.equal((await attemptElsewhere(t, file)).said, 'busy')
  lock?.release()
})

t.test('a file that cannot be locked at all is an error, not "busy"', async (t) => {
  const directory = t.testdir()
  t.throws(() => acquireFileLock(join(directory, 'missing', 'app.lock')), { code: 'ENOENT' })
  const file = join(directory, 'other.lock')
  writeFileSync(file, 'not a database, and long enough to be distinguished from one: '.repeat(50))
  chmodSync(file, 0o600)
  t.throws(() => acquireFileLock(file), { code: 'SQLITE_NOTADB' })
})
