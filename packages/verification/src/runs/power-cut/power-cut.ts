import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mustRun, runApp, startHost } from '../../harness/app.ts'
import { defineRun } from '../../harness/define-run.ts'
import { mountFileSystem } from '../../harness/file-system.ts'
import { shoppersOf } from '../../harness/shoppers.ts'

const USERS = 8
/** Power cuts in one round. */
const CUTS = 2

export const powerCut = defineRun({
  promise:
    'A file system that is shut down during writes and commands loses no acknowledged purchase and no file that the application needs.',
  needed: ['purchases acknowledged'],
  async round(round) {
    const { random } = round
    const disk = await mountFileSystem(round, 256)
    if (disk === undefined) return
    const directory = join(disk.directory, 'application')
    await mkdir(directory)
    await mustRun(directory, [['init'], ['module-install', 'api-purchase']])
    const shoppers = await shoppersOf(round, directory, USERS)
    let host = await startHost(directory)
    round.teardown(() => host.kill())
    for (let cut = 0; cut < CUTS && round.holds; cut += 1) {
      shoppers.start(host.url)
      // The second cut meets a command too.
      const command = cut === 0 ? undefined : runApp(directory, ['module-disable', 'api-purchase'])
      await pause(random.between(30, command === undefined ? 600 : 1500))
      // A running fsync succeeds without effect here. After a real power loss no response leaves.
      shoppers.ignoreResponses()
      await disk.shutDown()
      await host.kill()
      await Promise.all([shoppers.stop(), command])
      await disk.unmount()
      await disk.mount()
      host = await startHost(directory)
      await mustRun(directory, [['module-enable', 'api-purchase']])
      round.fail(...(await shoppers.check(host.url)))
      round.count('power cuts')
    }
    round.count('purchases acknowledged', shoppers.acknowledged)
  },
})
