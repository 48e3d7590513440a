import { join } from 'node:path'
import t from 'tap'
import { sampleFolder } from '../../../../packages/installer/test/sample-module.ts'
import { runOnTerminal, testApplication } from '../../run-app.ts'

const operates = (id: string, version = '1.0.0') => ({ id, version, manifest: { operator: true } })

t.test('the plan says in plain words that a module may operate the application', async (t) => {
  const { root, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'desk'), operates('desk'))
  const { json, stderr } = await run('module-install', '--yes', folder)
  t.match(json.installed, [{ id: 'desk', operator: true, becomesOperator: true }])
  const words =
    'operate this application: to install and remove modules, change settings, and call every route as any user'
  t.match(stderr.replace(/\s+/g, ' '), words)
})

t.test('two modules cannot both operate it', async (t) => {
  const { root, run } = await testApplication(t)
  const folders = [
    await sampleFolder(join(root, 'desk'), operates('desk')),
    await sampleFolder(join(root, 'helm'), operates('helm')),
  ]
  const refusal = { exitCode: 4, json: { error: { code: 'conflict', message: /operates the application/ } } }
  t.match(await run('module-install', '--yes', ...folders), refusal, 'in one change')
  t.equal((await run('module-install', '--yes', folders[0] as string)).exitCode, 0)
  t.match(await run('module-install', '--yes', folders[1] as string), refusal, 'beside the other')
  t.match((await run('module-list')).json.modules, [{ id: 'desk' }])
})

t.test('a terminal asks when a version asks for the right', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'desk'), { id: 'desk' })
  await run('module-install', '--yes', folder)
  await sampleFolder(folder, operates('desk', '1.1.0'))
  const upgrade = (reply: 'y' | 'n') => runOnTerminal(reply, 'module-install', folder, '--dir', directory)
  const refused = await upgrade('n')
  t.match(refused.said, /desk asks for the right to operate this application/)
  t.match((await run('module-list')).json.modules, [{ version: '1.0.0' }])
  t.equal((await upgrade('y')).exitCode, 0)
  t.match((await run('module-list')).json.modules, [{ version: '1.1.0' }])
})

t.test('a module whose manifest does not ask gets nothing', async (t) => {
  const { root, run } = await testApplication(t)
  const plugin = "context.operator.run('module-list')"
  const folder = await sampleFolder(join(root, 'sly'), { id: 'sly', plugin })
  t.match(await run('module-install', '--yes', folder), {
    exitCode: 4,
    json: { error: { code: 'probe-failed', message: /"operator": true/ } },
  })
})
