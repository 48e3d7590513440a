import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../../run-app.ts'

t.test('an unreadable generation is skipped with a note, and nothing is pruned then', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const install = async (version: string) => {
    const file = await sampleTarball(join(root, `hello-${version}.tgz`), { json: { version } })
    t.equal((await run('module-install', '--yes', file)).exitCode, 0)
  }
  await install('1.0.0')
  await install('1.1.0')
  const file = join(directory, '.app', 'generations', '1.json')
  await writeFile(file, '{ "at": "20')

  const history = await run('module-history')
  t.match(history, { exitCode: 0, json: { unreadable: [{ generation: 1, file }] } })
  t.strictSame(
    history.json.generations.map(({ generation }: { generation: number }) => generation),
    [0, 2],
  )
  t.match(history.stderr, `Skipped generation 1: ${file}`)
  t.match(await run('module-rollback', '1'), {
    exitCode: 3,
    json: { error: { code: 'generation-unreadable', message: file } },
  })
  await run('module-disable', 'hello')
  t.equal((await readdir(join(directory, '.app', 'store'))).length, 2, 'what it may have had stays')
  t.match(await run('module-rollback', '2'), { exitCode: 0 }, 'others can be gone back to')
  t.match(await run('doctor'), {
    exitCode: 1,
    json: { findings: [{ id: 'file-unreadable', severity: 'warning' }] },
  })
  t.match(await run('doctor', '--fix'), { exitCode: 0 })
})
