import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mintToken, syncPath } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import { Host, runApp } from '../../harness/app-command.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { fillDatabase } from './fill-database.ts'
import { HealthWatch } from './health-watch.ts'
import { writeRowsModule } from './write-rows-module.ts'

export interface ResponsiveRun {
  /** The number of events, of purchases of one user, and of rows of a module. */
  readonly rows: number
  readonly seed: number
  /** Also tries backups, and the removal of a module with its data. */
  readonly isThorough: boolean
  readonly onProgress: (text: string) => void
}

const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']

/** Runs the long operations of a host with many rows, one by one and together. */
export async function runResponsive({ rows, seed, isThorough, onProgress }: ResponsiveRun): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-responsive-'))
  const directory = join(folder, 'app')
  const figures: Record<string, number> = { 'rows of each kind': rows }
  const failures: string[] = []
  let host: Host | undefined
  let watch: HealthWatch | undefined
  try {
    const pile = await writeRowsModule(join(folder, 'pile-1'), '1.0.0')
    const newer = await writeRowsModule(join(folder, 'pile-2'), '1.1.0')
    const { issuer, secret } = await prepareApplication(directory, [...modules, pile])
    await (await Application.start({ directory, port: 0, environment: {} })).close()
    const file = join(directory, 'data', 'app.db')
    fillDatabase(file, rows, `user:${encodeURIComponent(issuer)}:ann`)
    // Otherwise the host's first fsync would wait for these data.
    await syncPath(file)
    const key = { issuer, secret: Buffer.from(secret), subject: 'ann', expiresIn: '1d' }
    const ann = await mintToken(key)
    const reader = await mintToken({ ...key, scope: 'event:read purchase:read' })
    host = await Host.start(directory)
    const url = `http://127.0.0.1:${host.port}`
    onProgress(`${rows} rows of each kind`)

    watch = await HealthWatch.start(url, ({ name, host: latest, own, slowdown }) => {
      figures[`${name}: slowest response, ms`] = Math.round(latest)
      onProgress(
        `${name}: ${latest.toFixed(0)} ms, own ${own.toFixed(0)} ms, slowdown ${slowdown.toFixed(1)}`,
      )
    })
    const app = async (...argv: string[]) => {
      const { exitCode, said } = await runApp(directory, argv)
      if (exitCode !== 0) failures.push(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
    }
    const ask = async (path: string, token: string) => {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
      await response.arrayBuffer()
      if (!response.ok) failures.push(`GET ${path} got ${response.status}`)
    }
    const random = new Random(seed)
    const page = () => random.between(1, Math.ceil(Math.min(rows, 10_000) / 20))
    const lists = async () => {
      for (const [path, token] of [
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
      ] as const)
        await ask(path, token)
    }
    const stream = (milliseconds: number) => readStream(`${url}/event?after=start`, ann, milliseconds)
    const upgrade = () => app('module-install', newer, '--yes')
    const back = () => app('module-rollback', '--yes')
    const backUp = () => app('backup', join(folder, `backup-${random.between(0, 1e9)}.tgz`))

    await watch.during('lists and filters', lists)
    await watch.during('a stream from the beginning', async () => {
      const received = await stream(isThorough ? 10_000 : 500)
      figures['events streamed, kB'] = Math.round(received / 1_000)
      if (received < 1_000) failures.push(`a stream sent only ${received} bytes`)
    })
    await watch.during('a migration', upgrade)
    await watch.during('its down migration', back)
    if (isThorough) {
      await watch.during('a backup', backUp)
      await watch.during('all together', () =>
        Promise.all([upgrade(), lists(), lists(), stream(10_000), stream(10_000)]),
      )
      await watch.during('all together, with a backup', () =>
        Promise.all([backUp(), lists(), stream(10_000)]),
      )
      await watch.during('a removal of a module with its data', () =>
        app('module-remove', 'pile', '--purge', '--yes'),
      )
    }
    return { figures, failures: [...failures, ...watch.failures] }
  } finally {
    watch?.stop()
    await host?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** @returns the received bytes */
function readStream(url: string, token: string, milliseconds: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  let bytes = 0
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const request = get(url, { headers }, (response) => {
    response.on('error', () => {})
    response.on('data', (data: Buffer) => {
      bytes += data.length
    })
  })
  request.on('error', () => {})
  setTimeout(() => {
    request.destroy()
    resolve(bytes)
  }, milliseconds)
  return promise
}
