import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mustRun, startHost } from '../../harness/app.ts'
import { defineRun } from '../../harness/define-run.ts'
import { mountFileSystem } from '../../harness/file-system.ts'
import { shoppersOf } from '../../harness/shoppers.ts'
import { until } from '../../harness/until.ts'

const USERS = 8
/** The number of times that the disk is filled in one round. */
const TIMES = 2
/** The time limit until writes are rejected, or accepted again, in milliseconds. */
const PATIENCE = 15_000
/** The limit of the log. One line per rejected write would exceed it. */
const LONGEST_LOG = 64 * 1024

export const fullDisk = defineRun({
  promise:
    'On a full disk the host refuses only writes, and accepts them again by itself when the disk has room.',
  needed: ['purchases acknowledged', 'purchases refused', 'reads on a full disk'],
  async round(round) {
    const { random } = round
    const disk = await mountFileSystem(round, 64)
    if (disk === undefined) return
    const directory = join(disk.directory, 'application')
    await mkdir(directory)
    await mustRun(directory, [['init'], ['module-install', 'api-purchase']])
    // 0: only SQLite notices the full disk.
    const mark = () => (random.chance(0.7) ? { APP_STORAGE_MIN_FREE_BYTES: '0' } : {})
    const start = () => startHost(directory, { environment: { ...mark(), APP_LOG_LEVEL: 'info' } })
    let host = await start()
    round.teardown(() => host.kill())
    const shoppers = await shoppersOf(round, directory, USERS)
    for (let time = 0; time < TIMES && round.holds; time += 1) {
      shoppers.start(host.url)
      await pause(random.between(50, 400))
      const { denied } = shoppers
      await disk.fill(random.chance(0.5) ? 0 : random.between(0, 128 * 1024))
      await until(async () => {
        await disk.fill(0)
        return shoppers.denied > denied + USERS
      }, PATIENCE)
      if (shoppers.denied === denied) round.fail('no write was refused on a full disk')
      if (random.chance(0.4)) {
        await host.kill()
        await shoppers.stop()
        host = await start()
        round.count('starts on a full disk')
        shoppers.start(host.url)
      }
      for (const path of ['/health/ready', '/openapi.json']) {
        const status = await fetch(host.url + path).then(({ status }) => status, String)
        round.count('reads on a full disk')
        if (status !== 200) round.fail(`GET ${path} is ${status} on a full disk`)
      }
      await disk.empty()
      const { acknowledged } = shoppers
      await until(() => shoppers.acknowledged > acknowledged || host.hasEnded, PATIENCE)
      if (shoppers.acknowledged === acknowledged)
        round.fail('writes are not taken again though there is room')
      if (host.hasEnded) round.fail(`the host ended: ${host.end}`)
      await shoppers.stop()
    }
    if (host.stderr.length > LONGEST_LOG) round.fail(`the log has ${host.stderr.length} bytes`)
    await shoppers.conclude(round, host)
  },
})
