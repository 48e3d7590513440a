import { fileURLToPath } from 'node:url'
import {
  DAY,
  Destinations,
  databaseTime,
  defineModule,
  type ModuleContext,
  type ModulePlugin,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { createTestHost, onEngines } from '@mortise/module-testkit'
import { Type } from '@sinclair/typebox'
import { type Test, test } from 'tap'
import { eventModule } from '../../src/index.ts'
import { fillAll, fillUp } from '../../src/webhook/backlog.ts'
import { Deliverer, type DelivererOptions } from '../../src/webhook/deliverer.ts'
import type { WebhookOptions } from '../../src/webhook/webhooks.ts'

/** One test on every engine there is. */
export const testOnEngines = onEngines<Test>(test)

/** What lets webhooks lead to a receiver of this machine. */
export const loopback = { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] }

export const ann = 'user:mortise-testkit:ann'

const data = Type.Object({}, { additionalProperties: true })
const { emit, plugin } = defineModule('shop', {
  events: {
    'purchase.created': data,
    'purchase.deleted': data,
    'cart.emptied': data,
    'stock.counted': data,
  },
})
type Happening = Parameters<typeof emit>[0]

/** A module whose events webhooks may be for. */
export const shop = {
  directory: fileURLToPath(new URL('shop', import.meta.url)),
  plugin: plugin(async () => {}),
}

/** This module, from its sources; `seen` gets what the host provides it. */
export function webhookModule(options: WebhookOptions, seen: (context: ModuleContext) => void = () => {}) {
  const plugin = eventModule(options)
  const watched: ModulePlugin = (app, context) => {
    seen(context)
    return plugin(app, context)
  }
  return {
    directory: fileURLToPath(new URL('../..', import.meta.url)),
    plugin: Object.assign(watched, plugin),
  }
}

/** A host whose webhooks are delivered when a test says so, by a clock that continues when it says so. */
export async function webhookHost(t: Test, settings: object = loopback, mostPending = 1_000) {
  let advanced = 0
  let position = 0
  let context = {} as ModuleContext
  function* clock() {
    return (yield* databaseTime()) + advanced
  }
  const host = await createTestHost(t, {
    modules: [
      webhookModule({ clock, lookEvery: DAY, mostPending }, (provided) => {
        context = provided
      }),
      shop,
    ],
    config: { modules: { 'api-event': settings } },
  })
  const { database } = host
  const { events } = context
  const filling = { database, events, clock, mostPending }
  return {
    ...host,
    ann: host.user('ann'),
    backlog: {
      fillAll: () => fillAll(filling),
      fillUp: (webhook: string) => fillUp(filling, webhook),
    },
    clock,
    advance(milliseconds: number) {
      advanced += milliseconds
    },
    /** A worker, as each process has one. */
    deliverer({
      patience,
      trusts = context.trusts,
    }: Partial<Pick<DelivererOptions, 'patience' | 'trusts'>> = {}) {
      const destinations = new Destinations({
        plainHttp: true,
        networks: loopback.webhookNetworks,
        setting: 'webhookNetworks',
      })
      const deliverer = new Deliverer({
        ...filling,
        destinations,
        audit: function* () {},
        log: host.app.log,
        lookEvery: DAY,
        trusts,
        patience,
      })
      t.teardown(() => deliverer.close())
      return deliverer
    },
    /** Has something happened to `subject`, and its deliveries written. @returns the id of the event */
    async happen(
      subject: string,
      {
        type = 'purchase.created',
        owner = ann,
        data,
        traceparent,
      }: { type?: Happening; owner?: string | null; data?: object; traceparent?: string } = {},
    ): Promise<string> {
      position += 1
      const event = { subject, owner, data: data ?? { position } }
      await database.transaction(() => traced(emit(type, event), traceparent))
      await host.reacted()
      const { id } = await database.one<{ id: string }>(
        sql`SELECT id FROM mortise_event ORDER BY position DESC LIMIT 1`,
      )
      return id
    },
  }
}

/** As the host has it in a request that is traced. */
function* traced(steps: Transaction<void>, traceparent: string | undefined): Transaction<void> {
  for (const step of steps) {
    yield 'event' in step && traceparent !== undefined ? { event: { ...step.event, traceparent } } : step
  }
}

export type WebhookHost = Awaited<ReturnType<typeof webhookHost>>
