import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type LockFile, readLockFile } from '@mortise/application'
import t from 'tap'
import { testApplication } from '../run-app.ts'

// What a command has written is read back later, after a kill or by another version. Nothing in it
// leads out of the application.

const HUGE = 1e300

t.test('a record that does not fit is refused by the name of its file, and nothing is touched', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const lock = await readLockFile(directory)
  const outside = join(root, 'outside')
  await writeFile(outside, 'kept')
  await writeFile(`${outside}.restored`, 'other')
  const record = {
    ...{ id: 'audit_1', at: '2026-01-01T00:00:00Z', actor: 'os:x', action: 'x', object: 'x', details: {} },
  }
  const tree = `sha512-${Buffer.alloc(64, 1).toString('base64')}`
  const named = (name: string, version = '1.0.0') => ({ package: name, version, tree })
  const file = join(directory, 'data', 'app.db')
  const restoration = {
    ...{ command: 'restore x', record, lock, database: { file } },
    ...{ previous: `${file}.before-generation-1`, files: [file, join(directory, 'modules.lock.json')] },
  }
  const journal = { command: 'module-install x', record, previous: lock, next: lock, undo: [] }
  const decided = {
    ...{ next: lock, back: lock, isRecorded: true, command: 'x', takesBack: 1, reason: 'x' },
    record: { ...record, outcome: 'done' },
  }
  const locks: readonly unknown[] = [
    null,
    'lock',
    { ...lock, generation: HUGE },
    { ...lock, generation: '1' },
    { ...lock, modules: [1] },
    { ...lock, modules: { __proto__: null, '../x': named('x') } },
    JSON.parse(JSON.stringify({ ...lock, modules: { x: 1 } }).replace('"x"', '"__proto__"')),
    { ...lock, modules: { x: null } },
    { ...lock, modules: { x: named('../../x') } },
    { ...lock, modules: { x: named('x', '../1') } },
    { ...lock, host: named('../../x') },
    { ...lock, host: 'x' },
  ]
  const records: readonly unknown[] = [
    null,
    [],
    { ...record, id: '../../../outside' },
    { ...record, id: 1 },
    { ...record, at: 'yesterday' },
    { ...record, details: 'x' },
  ]
  const withLock = (name: string, whole: object) => locks.map((one) => ({ ...whole, [name]: one }))
  const withRecord = (whole: object) => records.map((one) => ({ ...whole, record: one }))
  const cases: readonly [file: string, contents: readonly unknown[]][] = [
    [
      'restore.json',
      [
        ...withLock('lock', restoration),
        ...withRecord(restoration),
        { ...restoration, files: [file, outside] },
        { ...restoration, files: [file, join(directory, 'data', '..', '..', 'outside')] },
        { ...restoration, files: [{}] },
        { ...restoration, files: { length: HUGE } },
        { ...restoration, previous: outside },
        { ...restoration, previous: `${file}.before-generation-1/../../../outside` },
        { ...restoration, database: null },
        { ...restoration, database: { file: join('data', 'app.db') } },
        { ...restoration, database: { file: 1 } },
        { ...restoration, database: { url: 'postgres://127.0.0.1:1/x' }, previous: 'x"; DROP SCHEMA y' },
      ],
    ],
    [
      'journal.json',
      [
        ...withLock('previous', journal),
        ...withLock('next', journal),
        ...withRecord(journal),
        { ...journal, external: HUGE },
        { ...journal, config: 'x' },
        { ...journal, undo: [1] },
      ],
    ],
    [
      'taking-back.json',
      [
        ...withLock('back', decided),
        ...withRecord(decided),
        { ...decided, takesBack: HUGE },
        { ...decided, config: { previous: 1, next: 2 } },
      ],
    ],
  ]
  const before = await readFile(join(directory, 'modules.lock.json'), 'utf8')
  for (const [name, contents] of cases) {
    const place = join(directory, '.app', name)
    for (const content of contents) {
      const text = JSON.stringify(content)
      await writeFile(place, text)
      const refused = await run('module-disable', 'x')
      t.match(refused, { exitCode: 2, json: { error: { code: 'file-unreadable' } } }, text.slice(0, 300))
      t.match(refused.json.error.message, place)
    }
    await rm(place)
  }
  t.match(await run('module-disable', 'x'), { exitCode: 3 })

  const warned: readonly [file: string, contents: readonly unknown[]][] = [
    ['generations/1.json', locks.map((one) => ({ at: record.at, command: 'x', lock: one }))],
    ['audit/audit_1.json', records.map((one) => one && { outcome: 'done', ...one })],
  ]
  for (const [name, contents] of warned) {
    const place = join(directory, '.app', name)
    await mkdir(dirname(place), { recursive: true })
    for (const content of contents) {
      await writeFile(place, JSON.stringify(content))
      const { findings } = (await run('doctor', '--quick')).json
      t.match(findings, [{ id: 'file-unreadable', message: new RegExp(name) }], JSON.stringify(content))
    }
    await rm(place)
  }
  const numbered = { at: record.at, command: 'x', lock: { ...lock, generation: 1 } satisfies LockFile }
  await writeFile(join(directory, '.app', 'generations', `${'9'.repeat(30)}.json`), JSON.stringify(numbered))
  t.match((await run('module-history')).json, { generations: [] }, 'a number that no generation has')

  t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), before)
  t.equal(await readFile(outside, 'utf8'), 'kept')
  t.ok(existsSync(`${outside}.restored`))
})
