import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withCommandLock } from '@mortise/installer/changes'
import t from 'tap'
import { testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'

t.test('--wait waits for another command; after the timeout the exit code is 6', async (t) => {
  const { directory, run } = await testApplication(t)
  const done: string[] = []
  let waiting: Promise<unknown> | undefined
  await withCommandLock(directory, 'nothing', async () => {
    t.match(await run('config', 'set', 'server.port', '3001'), { exitCode: 6 })
    const late = await run('config', 'set', 'server.port', '3001', '--wait', '0.2')
    t.match(late, { exitCode: 6, json: { error: { code: 'busy' } }, stderr: /app nothing .*Waiting/ })
    const first = startApp(t, ['config', 'set', '--wait', 'server.port', '3002', '--dir', directory])
    await first.says(/Waiting for it/)
    waiting = first.ended.then((code) => done.push(`waited ${code}`))
    done.push('released')
  })
  await waiting
  t.strictSame(done, ['released', 'waited 0'])
  t.equal((await run('config', 'get', 'server.port')).json.value, 3002)
})

t.test('--wait accepts only a number of seconds', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('module-disable', '--wait', 'hello'), {
    exitCode: 3,
    json: { error: { message: /hello/ } },
  })
  t.match(await run('module-disable', 'hello', '--wait=soon'), { exitCode: 2 })
  t.match(await run('module-list', '--wait'), { exitCode: 2 }, 'it takes no lock')
})

t.test('a command that a signal ends says what it leaves behind', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const hangs = join(root, 'hangs')
  await writeFile(hangs, '')
  // The signal arrives while the command holds the lock.
  const preload = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const real = fs.promises.writeFile
    fs.promises.writeFile = async (file, ...rest) => {
      await real(file, ...rest)
      if (!String(file).endsWith('lock.owner')) return
      setTimeout(() => process.kill(process.pid, 'SIGINT'), 0)
      setInterval(() => {}, 1000)
      const readdir = fs.promises.readdir
      fs.promises.readdir = () => new Promise(() => {})
      syncBuiltinESMExports()
    }
    syncBuiltinESMExports()`
  const node = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
  const interrupted = startApp(t, ['module-disable', 'x', '--dir', directory], node)
  t.equal(await interrupted.ended, 'SIGINT')
  t.match(interrupted.stderr, /Interrupted\. The application did not change/)
  t.notOk(existsSync(join(directory, '.app', 'lock.owner')))

  const journal = join(directory, '.app', 'journal.json')
  await writeFile(journal, '{}')
  const decided = startApp(t, ['module-disable', 'x', '--dir', directory], node)
  t.equal(await decided.ended, 'SIGINT')
  t.match(decided.stderr, /in the middle of the change\. The next command/)
  await rm(journal)
  t.match(await run('module-disable', 'x'), { exitCode: 3 })
})
