import { setImmediate as turn } from 'node:timers/promises'
import type { Step, Transaction } from '@mortise/module-sdk'
import type { Client } from 'pg'
import { driveAsync, generatorOf, isEmpty, StepReader } from '../port/steps.ts'
import { type Reply, sendBatch } from './batch.ts'
import { SNAPSHOT } from './change-schema.ts'
import { sendTogether } from './client.ts'
import type { Connections } from './postgres-connections.ts'

/** The callers of one transaction. */
interface Group {
  readonly begun: PromiseWithResolvers<Begun>
  readonly over: PromiseWithResolvers<void>
  members: number
  /** The first error of a statement: the server does nothing more in the transaction. */
  failure?: unknown
}

interface Begun {
  readonly client: Client
  /** Resolves after the server's reply, whatever it is. */
  readonly reply: Promise<void>
}

/**
 * Snapshots that begin in the same turn of the event loop share a transaction, and their statements
 * travel together: the way is most of the cost of a short statement. They only read, so no caller
 * sees the others.
 */
export class SharedSnapshots {
  readonly #connections: Connections
  readonly #steps = new StepReader(undefined)
  /** The group that the next caller joins. */
  #next: Group | undefined

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /**
   * @param alone runs the same steps in a transaction of their own: after an error of any statement
   * of the group, and for a step that does not read
   * @throws {DatabaseError}
   */
  async run<Result>(steps: () => Transaction<Result>, alone: () => Promise<Result>): Promise<Result> {
    this.#next ??= this.#open()
    const group = this.#next
    group.members += 1
    try {
      const { client, reply } = await group.begun.promise
      const take = (step: Step) =>
        this.#read(client, step).catch((error) => {
          group.failure ??= error
          throw error
        })
      const driven = driveAsync(
        () => generatorOf(steps),
        take,
        () => true,
      )
      const [outcome] = await Promise.allSettled([driven, reply])
      if (group.failure === undefined) {
        if (outcome.status === 'rejected') throw outcome.reason
        return outcome.value
      }
    } finally {
      group.members -= 1
      if (group.members === 0) group.over.resolve()
    }
    return alone()
  }

  #open(): Group {
    const group: Group = { begun: Promise.withResolvers(), over: Promise.withResolvers(), members: 0 }
    const close = () => {
      if (this.#next === group) this.#next = undefined
    }
    const work = this.#connections.withSession(async (session, client) => {
      await turn()
      close()
      session.begin(SNAPSHOT)
      sendTogether(client)
      const reply = session.flush().catch((error) => {
        group.failure ??= error
      })
      group.begun.resolve({ client, reply })
      // Until then statements of the group may follow.
      await group.over.promise
      if (group.failure !== undefined) throw group.failure
      // With the BEGIN of the next group.
      sendTogether(client)
      await session.finish()
    })
    work.catch((error) => {
      close()
      group.begun.reject(error)
    })
    return group
  }

  async #read(client: Client, step: Step): Promise<unknown[]> {
    const { query, want } = this.#steps.read(step)
    if (want !== 'rows') throw new TypeError('a shared snapshot only reads')
    if (isEmpty(query?.postgres)) return []
    sendTogether(client)
    const [reply] = await sendBatch(client, [{ ...this.#connections.statements.get(query), want }])
    return (reply as Reply).rows
  }
}
