// A host whose own clock is off: by the first argument, in milliseconds. It writes a row when asked.

const real = Date.now
const by = Number(process.argv[2])
Date.now = () => real() + by

const { currentTime, newId, run, sql } = await import('@mortise/module-sdk')
const { openStorage } = await import('../../src/open-storage.ts')

const outbox = {
  insertion: () => sql`SELECT 1`,
  unplaced: sql`SELECT 1 WHERE 1 = 0`,
  // biome-ignore lint/correctness/useYield: nothing waits
  *place() {
    return false
  },
  channel: 'skewed',
}
const storage = await openStorage({ url: process.argv[3] as string, outbox })
// As the event log of a host does: after each event, and otherwise once a second.
const look = () => storage.sequenceOutbox()
for (let count = 0; count < 20; count += 1) await look()
setInterval(look, 50).unref()
process.on('message', async () => {
  await storage.transaction(() =>
    run(
      sql`INSERT INTO made (id, at, nth) VALUES (${newId('made')}, ${currentTime()}, (SELECT count(*) FROM made))`,
    ),
  )
  process.send?.('written')
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
