import { fileURLToPath } from 'node:url'
import { defineModule, type Transaction } from '@mortise/module-sdk'
import { createTestHost, onEngines, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import { Type } from '@sinclair/typebox'
import { type Test, test } from 'tap'
import plugin from '../src/index.ts'

/** One test on every engine there is. */
export const testOnEngines = onEngines<Test>(test)

const { emit } = defineModule('bell', {
  events: {
    'bell.rung': Type.Object({ n: Type.Integer(), text: Type.Optional(Type.String()) }),
    'bell.hung': Type.Object({}),
  },
})

/** A host that serves this module, from its sources, and in which things happen. */
export async function eventHost(t: Test, options: Omit<TestHostOptions, 'modules'> = {}) {
  const directory = fileURLToPath(new URL('..', import.meta.url))
  const host = await createTestHost(t, { ...options, modules: [{ directory, plugin }] })
  const { database } = host
  /** Commits what happens, and waits until it has its place: on PostgreSQL that comes a little later. */
  async function happen(steps: () => Transaction<void>): Promise<void> {
    await database.transaction(steps)
    await database.sequenceOutbox()
  }
  let rung = 0
  return {
    ...host,
    /** So many events in one transaction; their numbers go on from one call to the next. */
    ring(times = 1, owner: string | null = null, text?: string): Promise<void> {
      const numbers = Array.from({ length: times }, () => ++rung)
      return happen(function* () {
        for (const n of numbers) {
          const data = { n, ...(text !== undefined && { text }) }
          yield* emit('bell.rung', { subject: `bell_${n % 3}`, owner, data })
        }
      })
    },
    hang(subject: string, owner: string): Promise<void> {
      return happen(() => emit('bell.hung', { subject, owner, data: {} }))
    },
  }
}

/** The id by which events belong to a user of a test host. */
export const idOf = (subject: string) => `user:mortise-testkit:${subject}`

/** All that a caller finds by following `next` for as long as there is more. */
export async function walk(caller: TestCaller, path = '/event') {
  const events: { id: string; type: string; subject: string; data: { n: number } }[] = []
  for (let next = path, more = true; more; ) {
    const page = (await caller.get(next)).json()
    events.push(...page.data)
    ;({ next, more } = page)
  }
  return events
}
