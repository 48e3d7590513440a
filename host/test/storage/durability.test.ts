import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../src/storage/open-storage.ts'
import { temporaryStorage } from './temporary-storage.ts'

const WRITER = new URL('./fixtures/durable-writer.ts', import.meta.url).pathname

/** Starts a writer, kills it after it acknowledged so many writes, and answers all that it acknowledged. */
async function writeAndKill(file: string, firstId: number, killAfter: number): Promise<number[]> {
  const child = spawn(process.execPath, [WRITER, file, String(firstId)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
    if (output.split('\n').length > killAfter) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return output
    .slice(0, output.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map(Number)
}

t.test('what was acknowledged is there after SIGKILL, whenever it strikes', async (t) => {
  const storage = await temporaryStorage(t, 'CREATE TABLE written (id INTEGER PRIMARY KEY)')
  await storage.close()
  let highest = 0
  for (const killAfter of [1, 37, 500, 1500]) {
    const ids = await writeAndKill(storage.file, highest + 1, killAfter)
    t.ok(ids.length >= killAfter, `${ids.length} acknowledged`)
    const after = await openStorage({ file: storage.file, onFatal: t.fail })
    const rows = await after.many<{ id: number }>(sql`SELECT id FROM written`)
    await after.close()
    const there = new Set(rows.map(({ id }) => id))
    t.strictSame(
      ids.filter((id) => !there.has(id)),
      [],
    )
    highest = Math.max(...there)
  }
})
