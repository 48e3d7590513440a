import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../src/open-storage.ts'
import { temporaryStorage } from './temporary-storage.ts'

const WRITER = fileURLToPath(new URL('./fixtures/durable-writer.ts', import.meta.url))
const WRITTEN = 'CREATE TABLE written (id INTEGER PRIMARY KEY)'

/** Lets a writer run to its end: what it acknowledged, and how it ended. */
async function acknowledged(child: ChildProcess, onWrite: (count: number) => void = () => {}) {
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
    onWrite(output.split('\n').length - 1)
  })
  const [code] = await once(child, 'close')
  const lines = output.slice(0, output.lastIndexOf('\n') + 1).split('\n')
  return { ids: lines.filter(Boolean).map(Number), code: code as number | null }
}

async function writtenIds(file: string): Promise<Set<number>> {
  const storage = await openStorage({ file, onFatal: t.fail })
  const rows = await storage.many<{ id: number }>(sql`SELECT id FROM written`)
  await storage.close()
  return new Set(rows.map(({ id }) => id))
}

t.test('acknowledged writes survive SIGKILL at any moment', async (t) => {
  const storage = await temporaryStorage(t, WRITTEN)
  await storage.close()
  let highest = 0
  for (const killAfter of [1, 37, 500, 1500]) {
    const child = spawn(process.execPath, [WRITER, storage.file, String(highest + 1)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { ids } = await acknowledged(child, (count) => count >= killAfter && child.kill('SIGKILL'))
    t.ok(ids.length >= killAfter, `${ids.length} acknowledged`)
    const there = await writtenIds(storage.file)
    t.strictSame(
      ids.filter((id) => !there.has(id)),
      [],
    )
    highest = Math.max(...there)
  }
})

t.test('a failing disk is fatal, and no acknowledged write is lost', async (t) => {
  const storage = await temporaryStorage(t, WRITTEN)
  await storage.close()
  // 500 blocks of 512 bytes (or 1,024, as the shell counts) are less than the log grows to.
  const limited = 'ulimit -f 500 && exec "$0" "$@"'
  const child = spawn('/bin/sh', ['-c', limited, process.execPath, WRITER, storage.file, '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { ids, code } = await acknowledged(child)
  t.equal(code, 70)
  t.ok(ids.length > 0, `${ids.length} acknowledged`)
  const there = await writtenIds(storage.file)
  t.strictSame(
    ids.filter((id) => !there.has(id)),
    [],
  )
})
