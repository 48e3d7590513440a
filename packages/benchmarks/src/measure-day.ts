import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import { Child, mintUsers, prepareApplication, runApp } from '@mortise/verification'
import type { Holds } from './day-host.ts'
import { fillDay, isDue } from './fill-day.ts'
import type { LoadResult } from './load.ts'
import type { ReadPlan, ReadResult } from './paced-reader.ts'
import { prepareCallers } from './prepare-callers.ts'
import { scenarios } from './scenarios.ts'

export interface DayOptions {
  /** Purchases, and as many events. */
  readonly rows: number
  /** Rows of each kind that the jobs change or delete. */
  readonly due: number
  /** Receives what comes next. */
  readonly onProgress?: (text: string) => void
}

const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
const READERS = 4

/** Measures how long the work of a day holds the event loop of a host on SQLite, under light load. */
export async function measureDay({ rows, due, onProgress }: DayOptions): Promise<Record<string, Holds>> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-day-'))
  const directory = join(folder, 'app')
  const children: Child[] = []
  const child = (file: string) => {
    const started = new Child(new URL(file, import.meta.url))
    children.push(started)
    return started
  }
  const holds: Record<string, Holds> = {}
  try {
    onProgress?.(`filling ${rows} rows`)
    const application = await prepareApplication(directory, modules)
    await (await Application.start({ directory, port: 0, environment: {} })).close()
    const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
    const settings = { 'api-purchase': { expirePendingAfterMinutes: 10 * 24 * 60 } }
    await writeFile(configFile(directory), JSON.stringify({ ...config, modules: settings }))
    const day = { file: join(directory, 'data', 'app.db'), rows, due }
    fillDay(day)

    const host = child('day-host.ts')
    const { url } = await host.ask<{ url: string }>({ directory })
    const callers = await prepareCallers(url, await mintUsers(application, 2 * READERS))
    const [writer, reader] = [child('load-generator.ts'), child('paced-reader.ts')]
    const during = async (name: string, work: () => Promise<unknown>) => {
      onProgress?.(name)
      let isOver = false
      const load = async () => {
        const { requests } = scenarios.find(({ name }) => name === 'POST /cart/item, JWT') ?? {}
        const connections = callers.slice(0, 1).map((each) => requests?.(each) ?? [])
        const plan: ReadPlan = { url, path: '/cart', clients: callers.map(({ user }) => user), seconds: 1 }
        while (!isOver) {
          const [written] = await Promise.all([
            writer.ask<LoadResult>({ url, connections, seconds: 1 }),
            reader.ask<ReadResult>(plan),
          ])
          if (written.failures > 0) throw new Error(`${written.failures} writes failed`)
        }
      }
      await host.ask({})
      const end = () => {
        isOver = true
      }
      await Promise.all([load(), work().finally(end)])
      holds[name] = await host.ask<Holds>({})
    }
    holds.boot = await host.ask<Holds>({})
    await during('jobs', async () => {
      while (isDue(day)) await pause(200)
    })
    await during('load alone, with checkpoints', () => pause(10_000))
    await during('backup', () => runApp(directory, ['backup', join(folder, 'backup.tgz')]))
    return holds
  } finally {
    await Promise.all(children.map((each) => each.stop()))
    await rm(folder, { recursive: true, force: true })
  }
}
