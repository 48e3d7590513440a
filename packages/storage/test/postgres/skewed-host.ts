// A host whose own clock is off: by the first argument, in milliseconds. It writes a row when asked.

const real = Date.now
const by = Number(process.argv[2])
Date.now = () => real() + by

const { currentTime, newId, run, sql } = await import('@mortise/module-sdk')
const { openStorage } = await import('../../src/open-storage.ts')

const storage = await openStorage({ url: process.argv[3] as string })
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
