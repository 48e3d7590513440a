import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { started, withLateModules } from './late-modules.ts'

t.test(
  'a module that blocks the event loop ends the host, which then starts with the previous modules',
  async (t) => {
    const application = await withLateModules(t)
    const { root, directory, run } = application
    const host = await started(t, application)
    const reason = /hello has blocked the event loop for \d s, at index\.js:\d+/
    t.match(await run('module-install', '--yes', join(root, 'hangs.tgz'), '--settle', '10'), {
      exitCode: 5,
      json: { error: { code: 'taken-back', message: reason } },
    })
    t.equal(await host.ended, 'SIGKILL')
    t.match(host.stderr, reason)
    t.equal((await readLockFile(directory)).generation, 3)
    const next = await started(t, application)
    t.match(await next.hello(), { version: '1.0.0' })
    t.match((await run('audit')).json.records[0], { outcome: 'reverted', details: { reason } })
  },
)
