import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { isLoaded, isMigrated } from '@mortise/application'
import { type Database, Loop, now, type Rest, run, sql } from '@mortise/module-sdk'
import { StillNeededError, type Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { hostLabel, type ServingHost, servedModule, servesSame } from './serving-host.ts'

/** Heartbeat interval in milliseconds. */
const INTERVAL = 10_000
/** A host without a heartbeat for this long is gone, in milliseconds. */
const SILENCE = 25_000
/** In milliseconds: hosts in the same folder poll every 5 s; a dead one is known after SILENCE. */
const FOLLOW_TIMEOUT = 30_000
const FOLLOW_INTERVAL = 500

/** A time in the future was written before that clock was set back. */
const isThere = sql`seen_at BETWEEN ${now} - ${SILENCE} AND ${now} + ${SILENCE}`

/** One row for each host in mortise_host: one write every 10 s, and one at each change. */
export class HostHeartbeats {
  readonly #id = randomUUID()
  readonly #database: Database
  readonly #self: () => ServingHost
  readonly #log: FastifyBaseLogger
  readonly #onBeat: () => void
  readonly #loop: Loop
  #others: readonly ServingHost[] = []

  /**
   * @param self what this host serves now
   * @param onBeat called after each heartbeat
   */
  constructor(
    database: Database,
    self: () => ServingHost,
    log: FastifyBaseLogger,
    onBeat: () => void = () => {},
  ) {
    this.#onBeat = onBeat
    this.#database = database
    this.#self = self
    this.#log = log
    this.#loop = new Loop({ step: () => this.#beat(), log, trouble: 'heartbeats are not written' })
  }

  /** Whether another host served something else at the last check. */
  get hostsDiffer(): boolean {
    const self = this.#self()
    return this.#others.some((other) => !servesSame(self, other))
  }

  /** Writes what this host serves now and from then on; the first call begins that. */
  beat(): Promise<void> {
    const written = this.#loop.idle()
    this.#loop.begin()
    return written
  }

  async #beat(): Promise<Rest> {
    const { machine, pid, url, version, generation, modules } = this.#self()
    const [id, served] = [this.#id, JSON.stringify(modules)]
    try {
      await this.#database.transaction(function* () {
        yield* run(sql`
          INSERT INTO mortise_host (id, machine, pid, url, version, generation, modules, seen_at)
          VALUES (${id}, ${machine}, ${pid}, ${url}, ${version}, ${generation}, ${served}, ${now})
          ON CONFLICT (id) DO UPDATE SET
            version = excluded.version, generation = excluded.generation, modules = excluded.modules, seen_at = excluded.seen_at`)
        yield* run(sql`DELETE FROM mortise_host WHERE NOT (${isThere})`)
      })
      this.#others = await this.others()
      this.#onBeat()
    } catch (error) {
      this.#log.debug(error, 'cannot report to the other hosts what this host serves')
    }
    return { ms: INTERVAL }
  }

  /** @throws {DatabaseError} */
  others(): Promise<ServingHost[]> {
    return readHosts(this.#database, this.#id)
  }

  async stop(): Promise<void> {
    // A pending write would otherwise restore the row.
    await this.#loop.stop()
    const id = this.#id
    try {
      await this.#database.transaction(() => run(sql`DELETE FROM mortise_host WHERE id = ${id}`))
    } catch (error) {
      this.#log.debug(error, 'cannot report to the other hosts that this host stops')
    }
  }
}

/** The other hosts that may serve from a database now. */
export async function servingHosts(storage: Storage): Promise<ServingHost[]> {
  if (!storage.isShared) return []
  return isMigrated(await storage.applied()) ? readHosts(storage, '') : []
}

/** @param except the id of a host to leave out */
async function readHosts(database: Database, except: string): Promise<ServingHost[]> {
  const rows = await database.many<Omit<ServingHost, 'modules'> & { modules: string }>(sql`
    SELECT machine, pid, url, version, generation, modules FROM mortise_host
    WHERE id <> ${except} AND ${isThere} ORDER BY machine, url, pid`)
  return rows.map(({ modules, ...row }) => ({ ...row, modules: JSON.parse(modules) }))
}

/**
 * Resolves when no other host serves one of these modules in another form than `here`, so that what
 * they need may be removed. Hosts in the same folder follow within seconds.
 * @param here by id, the modules that this host serves or would serve
 * @throws {StillNeededError} that names a host that still serves another form
 */
export async function assertUnusedByHosts(
  modules: readonly string[],
  here: Readonly<Record<string, { readonly tree: string } | undefined>>,
  others: () => Promise<readonly ServingHost[]>,
  timeout = FOLLOW_TIMEOUT,
): Promise<void> {
  const needing = async () => {
    for (const other of await others()) {
      const id = modules.find((id) => {
        const served = servedModule(other, id)
        return served !== undefined && isLoaded(served) && served.tree !== here[id]?.tree
      })
      if (id !== undefined)
        return `${hostLabel(other)} still serves ${id} ${servedModule(other, id)?.version}`
    }
    return undefined
  }
  for (const deadline = performance.now() + timeout; ; ) {
    const who = await needing()
    if (who === undefined) return
    if (performance.now() > deadline) throw new StillNeededError(who)
    await pause(FOLLOW_INTERVAL)
  }
}
