import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, run, sql } from '@mortise/module-sdk'
import { now, StillNeededError, type Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { hostLabel, type ServingHost, servesSame } from './serving-host.ts'

/** How often a host says what it serves, in milliseconds. */
const INTERVAL = 10_000
/** Who has not said it for so long is gone. */
const SILENCE = 25_000
/**
 * How long others may take to follow a change, in milliseconds: those that share the folder look every 5 s, and who is
 * gone is known after SILENCE.
 */
const FOLLOW_TIMEOUT = 30_000
const FOLLOW_INTERVAL = 500

/** What is later than now was written before that clock was put back. */
const isThere = sql`seen_at BETWEEN ${now} - ${SILENCE} AND ${now} + ${SILENCE}`

/**
 * Tells the other hosts of a PostgreSQL what this one serves, and this one what they do: a row each in mortise_host,
 * one write in 10 s and one at each change.
 */
export class HostHeartbeats {
  readonly #id = randomUUID()
  readonly #database: Database
  readonly #self: () => ServingHost
  readonly #log: FastifyBaseLogger
  readonly #timer: NodeJS.Timeout
  #others: readonly ServingHost[] = []
  #calling = Promise.resolve()
  #stopped = false

  /** @param self what this host serves at the time */
  constructor(database: Database, self: () => ServingHost, log: FastifyBaseLogger) {
    this.#database = database
    this.#self = self
    this.#log = log
    this.#timer = setInterval(() => void this.call(), INTERVAL).unref()
  }

  /** Whether another host has served something else when it was last asked. */
  get hostsDiffer(): boolean {
    const self = this.#self()
    return this.#others.some((other) => !servesSame(self, other))
  }

  /** Says what this host serves. It is said again soon where the database does not hear it. */
  call(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    this.#calling = this.#calling.then(() => this.#call())
    return this.#calling
  }

  async #call(): Promise<void> {
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
    } catch (error) {
      this.#log.debug(error, 'the other hosts could not be told what this one serves')
    }
  }

  /** @throws {DatabaseError} */
  others(): Promise<ServingHost[]> {
    return readHosts(this.#database, this.#id)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    // It would come back otherwise.
    await this.#calling
    const id = this.#id
    try {
      await this.#database.transaction(() => run(sql`DELETE FROM mortise_host WHERE id = ${id}`))
    } catch (error) {
      this.#log.debug(error, 'the other hosts could not be told that this one stops')
    }
  }
}

/** The hosts that serve from a database now. Of a SQLite file there is none but the one that has it open. */
export async function servingHosts(storage: Storage): Promise<ServingHost[]> {
  if (storage.engine === 'sqlite') return []
  const hasTable = (await storage.applied()).some(
    ({ module, name }) => module === 'host' && name === '002-host',
  )
  return hasTable ? readHosts(storage, '') : []
}

/** @param except the id of one that is left out */
async function readHosts(database: Database, except: string): Promise<ServingHost[]> {
  const rows = await database.many<Omit<ServingHost, 'modules'> & { modules: string }>(sql`
    SELECT machine, pid, url, version, generation, modules FROM mortise_host
    WHERE id <> ${except} AND ${isThere} ORDER BY machine, url, pid`)
  return rows.map(({ modules, ...row }) => ({ ...row, modules: JSON.parse(modules) }))
}

/**
 * Resolves when no other host serves one of these modules in another form than `here`: what they need may
 * be taken away then. Those that share the folder follow within seconds.
 * @param here by id, the modules that are served here, or would be
 * @throws {StillNeededError} naming a host that goes on
 */
export async function assertUnusedByHosts(
  modules: readonly string[],
  here: Readonly<Record<string, { readonly tree: string } | undefined>>,
  others: () => Promise<readonly ServingHost[]>,
  timeout = FOLLOW_TIMEOUT,
): Promise<void> {
  const needing = async () => {
    for (const other of await others()) {
      const id = modules.find(
        (id) => other.modules[id]?.state === 'active' && other.modules[id].tree !== here[id]?.tree,
      )
      if (id !== undefined) return `${hostLabel(other)} still serves ${id} ${other.modules[id]?.version}`
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
