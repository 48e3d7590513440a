import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mintToken } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import { syncPath } from '@mortise/storage'
import { runApp, startHost } from '../../harness/app.ts'
import { bearer, Caller, type Headers } from '../../harness/caller.ts'
import { defineRun } from '../../harness/define-run.ts'
import { fillEvents, fillPurchases } from '../../harness/fill-database.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { HealthWatch } from './health-watch.ts'
import { writePileModule } from './pile-module.ts'

const MOST_ROWS = 1_200_000
const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']

/** Runs the long operations of a host with many rows, one by one and together. */
export const responsive = defineRun({
  promise:
    'With a million events and purchases, /health/live responds within 100 ms during every list, stream, migration or copy.',
  async round(round) {
    const { folder, random, isSlice, minutes, agent } = round
    const rows = isSlice ? 20_000 : Math.min(MOST_ROWS, Math.ceil(minutes * 200_000))
    round.figures.largest('rows of each kind', rows)
    const directory = join(folder, 'app')
    const pile = await writePileModule(join(folder, 'pile-1'), '1.0.0')
    const newer = await writePileModule(join(folder, 'pile-2'), '1.1.0')
    const { issuer, secret } = await prepareApplication(directory, [...modules, pile])
    await (await Application.start({ directory, port: 0, environment: {} })).close()
    const file = join(directory, 'data', 'app.db')
    const owner = `user:${encodeURIComponent(issuer)}:`
    fillPurchases(file, rows, owner, 1)
    fillEvents(file, rows, `${owner}0`)
    // Otherwise the host's first fsync would wait for these data.
    await syncPath(file)
    const host = await startHost(directory)
    round.teardown(() => host.stop())
    const callerOf = async (...scopes: string[]) => {
      const key = { issuer, secret: Buffer.from(secret), subject: '0', expiresIn: '1d', scopes }
      return new Caller(agent, () => host.url, bearer(await mintToken(key)))
    }
    const [ann, reader] = [await callerOf(), await callerOf('event:read', 'purchase:read')]
    round.log(`${rows} rows of each kind`)

    const watch = await HealthWatch.start(round, host.url)
    const app = async (...argv: string[]) => {
      const { exitCode, said } = await runApp(directory, argv)
      if (exitCode !== 0) round.fail(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
    }
    const page = () => random.between(1, Math.ceil(Math.min(rows, 10_000) / 20))
    const lists = async () => {
      for (const [path, caller] of [
        ['/purchase', ann],
        [`/purchase?page=${page()}`, ann],
        [`/purchase?status=completed&page=${page()}`, ann],
        ['/purchase?status=cancelled', ann],
        [`/purchase?owner=*&page=${page()}`, reader],
        ['/event?types=no.such', ann],
        ['/event?subject=no-such', reader],
        ['/event?types=no.such&owner=*', reader],
        ['/pile', ann],
        ['/pile/count', ann],
        ['/metrics', ann],
      ] as const) {
        const { status } = await caller.get(path)
        if (status !== 200) round.fail(`GET ${path} got ${status}`)
      }
    }
    const stream = (milliseconds: number) =>
      readStream(`${host.url}/event?after=start`, ann.headers, milliseconds)
    const upgrade = () => app('module-install', newer, '--yes')
    const backUp = () => app('backup', join(folder, `backup-${random.between(0, 1e9)}.tgz`))

    await watch.during('lists and filters', lists)
    await watch.during('a stream from the beginning', async () => {
      const received = await stream(isSlice ? 500 : 10_000)
      round.figures.largest('events streamed, kB', Math.round(received / 1_000))
      if (received < 1_000) round.fail(`a stream sent only ${received} bytes`)
    })
    await watch.during('a migration', upgrade)
    await watch.during('its down migration', () => app('module-rollback', '--yes'))
    if (isSlice) return
    await watch.during('a backup', backUp)
    await watch.during('all together', () =>
      Promise.all([upgrade(), lists(), lists(), stream(10_000), stream(10_000)]),
    )
    await watch.during('all together, with a backup', () => Promise.all([backUp(), lists(), stream(10_000)]))
    await watch.during('a removal of a module with its data', () =>
      app('module-remove', 'pile', '--purge', '--yes'),
    )
  },
})

/** @returns the received bytes */
async function readStream(url: string, headers: Headers, milliseconds: number): Promise<number> {
  let bytes = 0
  const request = get(url, { headers: { ...headers, accept: 'text/event-stream' } }, (response) => {
    response.on('error', () => {})
    response.on('data', (data: Buffer) => {
      bytes += data.length
    })
  })
  request.on('error', () => {})
  await pause(milliseconds)
  request.destroy()
  return bytes
}
