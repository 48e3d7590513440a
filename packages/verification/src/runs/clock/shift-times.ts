import { openStorage } from '@mortise/host'
import { identifier, run, sql } from '@mortise/module-sdk'

/** All times from the database's clock that are compared with it later. */
const columns = [
  ['mortise_subscription', 'held_until'],
  ['mortise_failed_event', 'next_at'],
  ['mortise_job', 'due_at'],
  ['mortise_job', 'held_until'],
  ['mortise_job', 'created_at'],
  ['mortise_lease', 'expires_at'],
  ['mortise_host', 'seen_at'],
  ['webhook', 'failing_since'],
  ['webhook_delivery', 'due_at'],
  ['webhook_delivery', 'attempted_at'],
] as const

/** Shifts stored times as if the database's clock had been this far ahead. */
export async function shiftTimes(url: string, milliseconds: number): Promise<void> {
  const storage = await openStorage({ url, onFatal: () => {} })
  try {
    await storage.transaction(function* () {
      for (const [table, column] of columns) {
        const name = identifier(column)
        yield* run(sql`UPDATE ${identifier(table)} SET ${name} = ${name} + ${milliseconds} WHERE ${name} > 0`)
      }
    })
  } finally {
    await storage.close()
  }
}
