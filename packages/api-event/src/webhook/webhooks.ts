import {
  DAY,
  type DestinationOptions,
  Destinations,
  databaseTime,
  type ModuleContext,
  type ModuleInstance,
} from '@mortise/module-sdk'
import type { Settings } from '../settings.ts'
import { fanOut } from './backlog.ts'
import { Deliverer } from './deliverer.ts'
import { deleteOldDeliveries } from './deliveries.ts'
import { disableUnproven } from './proof.ts'
import { purgeDeleted } from './repository.ts'
import { webhookRoutes } from './routes.ts'

/** The most pending deliveries of a webhook. */
const MOST_PENDING = 1_000
/** The most rows to delete in one transaction. */
const FORGOTTEN_AT_ONCE = 50

export interface WebhookOptions {
  readonly clock?: typeof databaseTime
  readonly resolve?: DestinationOptions['resolve']
  /** The interval of the search for due deliveries, in milliseconds. */
  readonly lookEvery?: number
  readonly mostPending?: number
}

/** The deliverer runs while the module serves. */
export function webhooks(
  app: ModuleInstance,
  context: ModuleContext<Settings>,
  { clock = databaseTime, resolve, lookEvery = 500, mostPending = MOST_PENDING }: WebhookOptions = {},
): void {
  const { database, events, eventTypes, settings, audit, log, trusts } = context
  const destinations = new Destinations({
    plainHttp: settings.webhookPlainHttp,
    networks: settings.webhookNetworks,
    setting: 'webhookNetworks',
    resolve,
  })
  const { webhooksPerCaller: perCaller, webhookProofDays: proofDays } = settings
  const rules = { clock, destinations, eventTypes, perCaller, proofDays, mostPending }
  webhookRoutes(app, database, rules)
  context.on('*', (event) => fanOut(event, mostPending, clock))

  const filling = { database, events, clock, mostPending }
  const deliverer = new Deliverer({ ...filling, destinations, audit, log, trusts, lookEvery })
  const begin = () => void deliverer.deliverDue()
  const timer = context.isServing ? setTimeout(begin, lookEvery).unref() : undefined
  context.retiring.addEventListener('abort', () => deliverer.close(), { once: true })
  app.addHook('onClose', async () => {
    clearTimeout(timer)
    await deliverer.close()
  })

  context.everyMinute('stop-unproven', function* () {
    return yield* disableUnproven(audit, yield* clock(), proofDays)
  })
  context.everyMinute('forget-deliveries', function* () {
    const before = (yield* clock()) - settings.webhookDeliveryDays * DAY
    const forgotten = yield* deleteOldDeliveries(before, FORGOTTEN_AT_ONCE)
    const deleted = yield* purgeDeleted(FORGOTTEN_AT_ONCE)
    return Math.max(forgotten, deleted) === FORGOTTEN_AT_ONCE
  })
}
