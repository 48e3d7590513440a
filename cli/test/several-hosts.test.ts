import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sampleFolder } from '../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from './run-app.ts'
import { get, runningHost } from './running-host.ts'
import { skipPostgres, usePostgres } from './test-on-engines.ts'

t.test('hosts on one database report different modules', { skip: skipPostgres }, async (t) => {
  const one = await testApplication(t)
  await usePostgres(t, one.directory)
  const copy = join(one.root, 'copy')
  await cp(one.directory, copy, { recursive: true })
  const two = {
    directory: copy,
    run: (...argv: string[]) => runApp(...argv, '--dir', copy, '--json'),
  }
  const hosts = [await runningHost(t, one.directory), await runningHost(t, two.directory)] as const
  const hello = (version: string) => sampleFolder(join(one.root, `hello-${version}`), { version })

  const installed = await one.run('module-install', '--yes', await hello('1.0.0'))
  t.match(installed, {
    exitCode: 0,
    json: { live: true, differingHosts: [{ url: hosts[1].url, differences: ['no hello (here 1.0.0)'] }] },
  })
  t.match(await two.run('module-list'), {
    json: { differingHosts: [{ url: hosts[0].url, differences: ['hello 1.0.0 (not here)'] }] },
  })
  t.match(await two.run('doctor'), { exitCode: 1, json: { findings: [{ id: 'hosts-differ' }] } })

  t.match(await two.run('module-install', '--yes', await hello('1.0.0')), { json: { differingHosts: [] } })
  t.match(await one.run('module-list'), { json: { differingHosts: [] } })
  t.match(await one.run('doctor'), { exitCode: 0 })
  t.match(await two.run('module-install', '--yes', await hello('2.0.0')), {
    json: { differingHosts: [{ differences: ['hello 1.0.0 (here 2.0.0)'] }] },
  })
  t.match((await get(hosts[1], '/')).body, { hostsDiffer: true })
  t.match((await get(hosts[1], '/hello')).body, { version: '2.0.0' })
  t.match((await get(hosts[0], '/hello')).body, { version: '1.0.0' })
})

t.test('a second host in the folder is refused and changes nothing', { skip: skipPostgres }, async (t) => {
  const { directory, run } = await testApplication(t)
  await usePostgres(t, directory)
  const { url } = await runningHost(t, directory)
  t.match(await run('start', '--port', '0'), {
    exitCode: 1,
    json: { error: { code: 'already-running', message: new RegExp(url) } },
  })
  t.match(await run('module-list'), { json: { url } })
})
