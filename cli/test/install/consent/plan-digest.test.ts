import { join } from 'node:path'
import t from 'tap'
import { sampleFolder } from '../../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../../run-app.ts'

t.test('--plan applies the plan of that digest, and no other', async (t) => {
  const { root, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'note'), { id: 'note' })
  const planned = await run('module-install', '--yes', folder, '--dry-run')
  t.match(planned.json.digest, /^[0-9a-f]{64}$/)
  t.equal(
    (await run('module-install', '--yes', folder, '--dry-run')).json.digest,
    planned.json.digest,
    'it stays',
  )

  await sampleFolder(folder, { id: 'note', version: '1.1.0' })
  const changed = await run('module-install', '--yes', folder, '--plan', planned.json.digest)
  t.match(
    changed,
    { exitCode: 4, json: { error: { code: 'plan-changed' } } },
    'the name means another package',
  )
  t.same((await run('module-list')).json.modules, [])
  const next = (await run('module-install', '--yes', folder, '--dry-run')).json.digest
  t.not(next, planned.json.digest)
  t.match(await run('module-install', '--yes', folder, '--plan', next), {
    exitCode: 0,
    json: { generation: 1 },
  })
})

t.test('the digest differs by what is done, and by what is installed', async (t) => {
  const { root, run } = await testApplication(t)
  const tables = {
    manifest: { tables: 'note', migrations: 'migrations' },
    files: {
      'migrations/001-note.sql': 'CREATE TABLE note (id TEXT PRIMARY KEY)',
      'migrations/001-note.down.sql': 'DROP TABLE note',
    },
  }
  await run('module-install', '--yes', await sampleFolder(join(root, 'note'), { id: 'note', ...tables }))
  const digestOf = async (...words: string[]) => (await run(...words, '--dry-run')).json.digest as string
  const digests = [
    await digestOf('module-remove', 'note'),
    await digestOf('module-remove', 'note', '--purge'),
    await digestOf('module-disable', 'note'),
    await digestOf('module-pause', 'note'),
    await digestOf('module-pause', 'note', '--for', '10m'),
    await digestOf('module-rollback'),
  ]
  t.equal(new Set(digests).size, digests.length)
  t.equal(await digestOf('module-pause', 'note', '--for', '10m'), digests[4], 'whenever the pause begins')

  await run('module-install', '--yes', await sampleFolder(join(root, 'other'), { id: 'other' }))
  for (const [index, words] of [
    ['module-remove', 'note'],
    ['module-remove', 'note', '--purge'],
  ].entries()) {
    const refused = await run(...words, '--plan', digests[index] as string)
    t.match(refused, { exitCode: 4, json: { error: { code: 'plan-changed' } } }, words.join(' '))
  }
  const removed = await run('module-remove', 'note', '--purge', '--dry-run')
  t.match(removed.json, { removed: ['note'], drops: [{ table: 'note', rows: 0 }], purged: [] })
  t.match((await run('module-list')).json, { modules: [{ id: 'note', state: 'active' }, { id: 'other' }] })
})
