import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import type { Config } from '@mortise/application'
import { isMigrated, type LockFile, storedModule, writePendingRecord } from '@mortise/application'
import { many, newId, now, run, sql, type Transaction, timestamp } from '@mortise/module-sdk'
import { readJsonFile, type Storage, writeDurably } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { emitHostEvent } from '../events/host-events.ts'
import { forgetEnds, type ModuleEnd, readEnds } from './module-ends.ts'

// The modules that have ended the host too often. The hosts of a database share them: a row of
// mortise_lease for each, `host/quarantine/<module>`, whose time is the beginning. `.app/quarantine` is
// a copy for commands without a host.

const PREFIX = 'host/quarantine/'

/** Why a module does not serve, and since when. It holds for one version. */
export interface QuarantineEntry {
  /** The name of its folder in the store. */
  readonly folder: string
  /** A sentence. */
  readonly reason: string
  /** RFC 3339, UTC. */
  readonly since: string
}

type Entries = Readonly<Record<string, QuarantineEntry>>

/** The quarantine as one host knows it. */
export class Quarantine {
  readonly #config: Config
  readonly #storage: Storage
  readonly #log: FastifyBaseLogger
  #entries: Entries = {}
  /** What the copy has, as JSON. */
  #copied: string | undefined

  constructor(config: Config, storage: Storage, log: FastifyBaseLogger) {
    this.#config = config
    this.#storage = storage
    this.#log = log
  }

  /** Of a module in this folder of the store. */
  find(id: string, folder: string): QuarantineEntry | undefined {
    const entry = Object.hasOwn(this.#entries, id) ? this.#entries[id] : undefined
    return entry?.folder === basename(folder) ? entry : undefined
  }

  /** Counts who ended the hosts of this folder, before any module is loaded. */
  async begin(lock: LockFile): Promise<void> {
    const decided = await this.#decide(lock)
    try {
      await this.read()
      const fresh = Object.entries(decided).filter(([id, { folder }]) => this.#entries[id]?.folder !== folder)
      for (const [id, entry] of fresh) await this.#put(id, entry)
      if (fresh.length > 0) await this.read()
    } catch (error) {
      this.#entries = { ...this.#entries, ...decided }
      this.#log.error(error, 'the quarantine cannot be stored; this host minds it until its end')
    }
  }

  /** Reads what the hosts of the database have decided. */
  async read(): Promise<void> {
    this.#entries = await this.#storage.snapshot(readEntries)
    // Each heartbeat comes here.
    const entries = JSON.stringify(this.#entries)
    if (entries !== this.#copied) await writeCopy(this.#config.directory, this.#entries)
    this.#copied = entries
  }

  async #decide({ modules }: LockFile): Promise<Entries> {
    const { directory, host } = this.#config
    if (host.quarantineAfter === 0) return {}
    const begun = Date.now() - host.quarantineMinutes * 60_000
    // An end in the future was written before the clock was set back.
    const ends = await readEnds(directory, ({ at }) => at < begun || at > Date.now() + 60_000)
    const since = timestamp(Date.now())
    return Object.fromEntries(
      Object.entries(modules).flatMap(([id, locked]) => {
        const folder = basename(storedModule(directory, locked))
        const own = ends.filter((end) => end.module === id && end.folder === folder)
        const last = own.at(-1) as ModuleEnd
        if (own.length < host.quarantineAfter) return []
        const reason = `it has ended the host ${own.length} times in ${host.quarantineMinutes} minutes, last: ${last.reason}`
        return [[id, { folder, reason, since }] as const]
      }),
    )
  }

  async #put(id: string, entry: QuarantineEntry): Promise<void> {
    const { folder, reason } = entry
    await this.#storage.transaction(function* () {
      yield* run(sql`
        INSERT INTO mortise_lease (name, holder, expires_at)
        VALUES (${PREFIX + id}, ${JSON.stringify({ folder, reason })}, ${now})
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`)
      yield* emitHostEvent('host.module-quarantined', { subject: id, data: { module: id, reason } })
    })
    this.#log.error({ module: id, reason }, `${id} is in quarantine: ${reason}`)
    const details = { machine: hostname(), reason }
    const about = {
      actor: 'host',
      action: 'module-quarantine',
      object: id,
      outcome: 'done' as const,
      details,
    }
    await writePendingRecord(this.#config.directory, { id: newId('audit'), at: entry.since, ...about })
  }
}

function* readEntries(): Transaction<Entries> {
  const rows = yield* many<{ name: string; holder: string; since: number }>(
    sql`SELECT name, holder, expires_at AS since FROM mortise_lease WHERE name LIKE ${`${PREFIX}%`}`,
  )
  return Object.fromEntries(
    rows.map(({ name, holder, since }) => [
      name.slice(PREFIX.length),
      { ...JSON.parse(holder), since: timestamp(since) },
    ]),
  )
}

/** Ends the quarantine of these modules on every host. @returns those that were in it */
export async function release(
  directory: string,
  storage: Storage,
  modules: readonly string[],
): Promise<string[]> {
  if (!isMigrated(await storage.applied())) return []
  await forgetEnds(directory, modules)
  const entries = await storage.snapshot(readEntries)
  const released = modules.filter((id) => Object.hasOwn(entries, id))
  if (released.length === 0) return []
  await storage.transaction(function* () {
    for (const id of released) yield* run(sql`DELETE FROM mortise_lease WHERE name = ${PREFIX + id}`)
  })
  await writeCopy(directory, await storage.snapshot(readEntries))
  return released
}

export const quarantineFile = (directory: string) => join(directory, '.app', 'quarantine')

async function writeCopy(directory: string, entries: Entries): Promise<void> {
  const before = await readQuarantine(directory)
  if (JSON.stringify(before) === JSON.stringify(entries)) return
  await writeDurably(quarantineFile(directory), `${JSON.stringify(entries)}\n`)
}

/** As the last host of this folder knew it. */
export async function readQuarantine(directory: string): Promise<Entries> {
  return (await readJsonFile(quarantineFile(directory), isObject).catch(() => undefined)) ?? {}
}

/** The same, of what is installed now: another version is in no quarantine. */
export async function readPresentQuarantine(directory: string, { modules }: LockFile): Promise<Entries> {
  const entries = Object.entries(await readQuarantine(directory))
  return Object.fromEntries(
    entries.filter(([id, { folder }]) => {
      const locked = modules[id]
      return locked !== undefined && folder === basename(storedModule(directory, locked))
    }),
  )
}

const isObject = (value: unknown): value is Entries => typeof value === 'object' && value !== null
