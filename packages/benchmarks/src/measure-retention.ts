import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  callRunningHost,
  hashTree,
  type LockedModule,
  readLockFile,
  storedModule,
  writeLockFile,
} from '@mortise/host'
import { Application } from '@mortise/host/serving'
import { prepareApplication } from '@mortise/verification'

export interface Retention {
  /** Bytes of heap that stay per further version of the module's package. */
  readonly perPackage: number
  /** Bytes of heap that stay per switch between two loaded packages. */
  readonly perSwitch: number
}

/** The number of switches before the measurement: caches fill, and hot code is compiled again. */
const WARM_UP = 40

/**
 * Runs the host with one module, replaces it by further versions `rounds` times, then switches
 * between the last two. Needs --expose-gc.
 */
export async function measureRetention(name: string, rounds: number): Promise<Retention> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-retention-'))
  try {
    await prepareApplication(directory, [name])
    const application = await Application.start({ directory, port: 0, environment: {} })
    try {
      const versions: LockedModule[] = []
      const upgrade = async () => {
        versions.push(await addVersion(directory, `1.0.${versions.length + 1}`))
        await activate(directory, versions.at(-1) as LockedModule)
      }
      const alternate = async (round: number) =>
        activate(directory, versions.at(-1 - (round % 2)) as LockedModule)
      for (let round = 0; round < WARM_UP; round++) await upgrade()
      const perPackage = await growth(application, rounds, upgrade)
      const perSwitch = await growth(application, rounds, alternate)
      return { perPackage, perSwitch }
    } finally {
      await application.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Bytes of heap per round, after garbage collection. */
async function growth(
  application: Application,
  rounds: number,
  work: (round: number) => Promise<void>,
): Promise<number> {
  const before = await heap(application)
  for (let round = 0; round < rounds; round++) await work(round)
  return ((await heap(application)) - before) / rounds
}

async function heap({ installed }: Application): Promise<number> {
  await installed.retired()
  for (let pass = 0; pass < 4; pass++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Adds another version of the installed package to the store. */
async function addVersion(directory: string, version: string): Promise<LockedModule> {
  const [locked] = Object.values((await readLockFile(directory)).modules) as [LockedModule]
  const staged = join(directory, 'staged', version)
  await mkdir(join(directory, 'staged'), { recursive: true })
  await cp(storedModule(directory, locked), staged, { recursive: true })
  const file = join(staged, 'package.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), version }))
  const added = { ...locked, version, tree: await hashTree(staged) }
  await rename(staged, storedModule(directory, added))
  return added
}

async function activate(directory: string, locked: LockedModule): Promise<void> {
  const lock = await readLockFile(directory)
  const [id] = Object.keys(lock.modules) as [string]
  await writeLockFile(directory, { ...lock, generation: lock.generation + 1, modules: { [id]: locked } })
  const activated = await callRunningHost(directory, 'activate')
  if (activated === undefined) throw new Error('the host does not run')
}
