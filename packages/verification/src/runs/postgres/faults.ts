import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { CuttableProxy } from '../../../../storage/test/postgres/proxy.ts'
import type { TestPostgres } from '../../../../storage/test/postgres/start-postgres.ts'
import type { Random } from '../../harness/random.ts'

/** A fault between the hosts and a running server. It neither loses nor moves data. */
export interface Fault {
  /** True if hosts must report not ready during the fault; otherwise they must serve. */
  readonly isOutage: boolean
  /** @returns a function that ends the fault */
  begin(parts: FaultParts): Promise<() => unknown>
}

interface FaultParts {
  readonly database: TestPostgres
  /** All proxies to the server. */
  readonly proxies: readonly CuttableProxy[]
  readonly random: Random
}

export const faults = {
  frozen: {
    isOutage: true,
    async begin({ database }) {
      await database.freeze()
      return () => database.thaw()
    },
  },
  blackholed: {
    isOutage: true,
    async begin({ proxies }) {
      for (const proxy of proxies) proxy.blackhole()
      return () => Promise.all(proxies.map((proxy) => proxy.repair()))
    },
  },
  'cut at COMMIT': {
    isOutage: false,
    async begin({ proxies, random }) {
      for (let times = 0; times < 5; times++) {
        for (const proxy of proxies) proxy.cutAt('COMMIT', random.chance(0.5) ? 'delivered' : 'undelivered')
        await pause(random.between(20, 150))
      }
      return () => {}
    },
  },
  exhausted: {
    isOutage: false,
    async begin({ database }) {
      const taken: Client[] = []
      const take = async () => {
        const client = new Client({ connectionString: database.url })
        client.on('error', () => {})
        await client.connect()
        taken.push(client)
      }
      // It also takes connections that the hosts release.
      let isTaking = true
      const taking = (async () => {
        while (isTaking) await take().catch(() => pause(20))
      })()
      await pause(1_000)
      return async () => {
        isTaking = false
        await taking
        await Promise.all(taken.map((client) => client.end()))
      }
    },
  },
  slow: {
    isOutage: false,
    async begin({ proxies, random }) {
      for (const proxy of proxies) proxy.delay(25)
      await pause(random.between(500, 1_500))
      return () => {
        for (const proxy of proxies) proxy.delay(0)
      }
    },
  },
} as const satisfies Readonly<Record<string, Fault>>
