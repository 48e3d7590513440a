import { fileURLToPath } from 'node:url'
import { DAY, type Event, newId } from '@mortise/module-sdk'
import { createTestHost, onEngines } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import { eventModule } from '../../src/module.ts'
import { databaseClock } from '../../src/webhook/clock.ts'
import { Deliverer } from '../../src/webhook/deliverer.ts'
import { Destinations } from '../../src/webhook/destinations.ts'
import { fanOut } from '../../src/webhook/fan-out.ts'

/** One test on every engine there is. */
export const testOnEngines = onEngines<Test>(test)

/** What lets webhooks lead to a receiver of this machine. */
export const loopback = { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] }

export const ann = 'user:mortise-testkit:ann'

/** A host whose webhooks are delivered when a test says so, by a clock that goes on when it says so. */
export async function webhookHost(t: Test, settings: object = loopback) {
  let advanced = 0
  let position = 0
  function* clock() {
    return (yield* databaseClock()) + advanced
  }
  const host = await createTestHost(t, {
    modules: [
      {
        directory: fileURLToPath(new URL('../..', import.meta.url)),
        plugin: eventModule({ clock, lookEvery: DAY }),
      },
    ],
    config: { modules: { 'api-event': settings } },
  })
  const { database } = host
  return {
    ...host,
    ann: host.user('ann'),
    advance(milliseconds: number) {
      advanced += milliseconds
    },
    /** A worker, as each process has one. */
    deliverer(patience?: number) {
      const destinations = new Destinations({ plainHttp: true, networks: loopback.webhookNetworks })
      const deliverer = new Deliverer({
        database,
        destinations,
        clock,
        audit: function* () {},
        log: host.app.log,
        ...(patience !== undefined && { patience }),
      })
      t.teardown(() => deliverer.close())
      return deliverer
    },
    /** Has something happened to `subject`: writes the deliveries, as the reaction to the event does. */
    async happen(subject: string, part: Partial<Event> = {}): Promise<string> {
      position += 1
      const event: Event = {
        id: newId('event'),
        type: 'purchase.created',
        source: 'api-purchase',
        subject,
        owner: ann,
        at: Date.now(),
        data: { position },
        traceparent: null,
        position,
        ...part,
      }
      await database.transaction(() => fanOut(event, clock))
      return event.id
    },
  }
}

export type WebhookHost = Awaited<ReturnType<typeof webhookHost>>
