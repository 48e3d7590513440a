import { DAY, type ModuleContext, type ModuleInstance } from '@mortise/module-sdk'
import type { Settings } from '../settings.ts'
import { type Clock, databaseClock } from './clock.ts'
import { Deliverer } from './deliverer.ts'
import { forgetDeliveries } from './deliveries.ts'
import { type DestinationOptions, Destinations } from './destinations.ts'
import { fanOut } from './fan-out.ts'
import { forgetDeleted } from './repository.ts'
import { webhookRoutes } from './routes.ts'

/** Rows that are forgotten in one transaction at most. */
const FORGOTTEN_AT_ONCE = 500

export interface WebhookOptions {
  readonly clock?: Clock
  readonly resolve?: DestinationOptions['resolve']
  /** How often it looks for what is due, in milliseconds. */
  readonly lookEvery?: number
}

/**
 * Registers webhooks: their routes, what writes a delivery for each event, and what sends it for as long as the module
 * serves.
 */
export function webhooks(
  app: ModuleInstance,
  context: ModuleContext<Settings>,
  { clock = databaseClock, resolve, lookEvery = 500 }: WebhookOptions = {},
): void {
  const { database, settings, audit, log } = context
  const destinations = new Destinations({
    plainHttp: settings.webhookPlainHttp,
    networks: settings.webhookNetworks,
    resolve,
  })
  webhookRoutes(app, { database, clock, destinations, perCaller: settings.webhooksPerCaller })
  context.on('*', (event) => fanOut(event, clock))

  const deliverer = new Deliverer({ database, destinations, audit, log, clock })
  const timer = setInterval(() => deliverer.deliverDue(), lookEvery)
  timer.unref()
  context.retiring.addEventListener('abort', () => deliverer.close(), { once: true })
  app.addHook('onClose', async () => {
    clearInterval(timer)
    await deliverer.close()
  })

  context.everyMinute('forget-deliveries', function* () {
    const before = (yield* clock()) - settings.webhookDeliveryDays * DAY
    const forgotten = yield* forgetDeliveries(before, FORGOTTEN_AT_ONCE)
    const deleted = yield* forgetDeleted(FORGOTTEN_AT_ONCE)
    return Math.max(forgotten, deleted) === FORGOTTEN_AT_ONCE
  })
}
