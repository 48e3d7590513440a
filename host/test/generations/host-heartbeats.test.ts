import { run, sql } from '@mortise/module-sdk'
import { StillNeededError, type Storage } from '@mortise/storage'
import type { Test } from 'tap'
import { assertUnusedByHosts, HostHeartbeats, servingHosts } from '../../src/generations/host-heartbeats.ts'
import { hostLabel, type ServingHost } from '../../src/generations/serving-host.ts'
import { migrateHost } from '../../src/modules/migrate-host.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type Open, testOnPostgres } from '../engines.ts'

const log = createLogger({ level: 'silent', requests: false, slowMs: 1000 })

const host = (machine: string, version = '1.0.0'): ServingHost => ({
  machine,
  pid: 7,
  url: `http://${machine}:3000`,
  version: '1.0.0',
  generation: 3,
  modules: { note: { version, tree: `sha512-${version}`, state: 'active' } },
})

async function setUp(t: Test, open: Open) {
  const storage = await open()
  await migrateHost(storage)
  const join = (self: ServingHost) => {
    const calling = { self }
    const roll = new HostHeartbeats(storage, () => calling.self, log)
    t.teardown(() => roll.stop())
    return { calling, roll }
  }
  return { storage, join }
}

/** As if a host had said nothing for so long. */
const age = (storage: Storage, machine: string, milliseconds: number) =>
  storage.transaction(() =>
    run(sql`UPDATE mortise_host SET seen_at = seen_at - ${milliseconds} WHERE machine = ${machine}`),
  )

testOnPostgres('hosts of one database know what the others serve, until they stop', async (t, open) => {
  const { storage, join } = await setUp(t, open)
  const [one, two] = [join(host('one')), join(host('two'))]
  await one.roll.beat()
  t.same(await one.roll.others(), [])
  t.notOk(one.roll.hostsDiffer)
  await two.roll.beat()
  t.strictSame(await one.roll.others(), [host('two')])
  t.notOk(two.roll.hostsDiffer)

  one.calling.self = host('one', '2.0.0')
  t.ok(two.roll.hostsDiffer === false, 'not known yet')
  await one.roll.beat()
  await two.roll.beat()
  t.ok(two.roll.hostsDiffer)
  t.strictSame(await two.roll.others(), [host('one', '2.0.0')])

  await one.roll.stop()
  t.same(await two.roll.others(), [])
  await one.roll.beat()
  t.same(await two.roll.others(), [], 'who has stopped does not come back')
  t.strictSame(await servingHosts(storage), [host('two')])
})

testOnPostgres('who stays silent is gone, and removed by the next', async (t, open) => {
  const { storage, join } = await setUp(t, open)
  const [one, two] = [join(host('one')), join(host('two'))]
  await one.roll.beat()
  await two.roll.beat()
  await age(storage, 'one', 20_000)
  t.equal((await two.roll.others()).length, 1)
  await age(storage, 'one', 6_000)
  t.same(await two.roll.others(), [])
  t.equal((await storage.many(sql`SELECT id FROM mortise_host`)).length, 2)
  await two.roll.beat()
  t.equal((await storage.many(sql`SELECT id FROM mortise_host`)).length, 1)
})

testOnPostgres('who was last seen later than now is gone: the clock was put back', async (t, open) => {
  const { storage, join } = await setUp(t, open)
  const [one, two] = [join(host('one')), join(host('two'))]
  await one.roll.beat()
  await age(storage, 'one', -7_200_000)
  t.same(await two.roll.others(), [])
  await one.roll.beat()
  t.equal((await two.roll.others()).length, 1, 'who says it again is there')
})

testOnPostgres('what another host still needs is not taken away', async (t, open) => {
  const { storage, join } = await setUp(t, open)
  const [other, here] = [join(host('other', '2.0.0')), host('here')]
  await other.roll.beat()
  const others = () => servingHosts(storage)
  await t.rejects(assertUnusedByHosts(['note'], here.modules, others, 0), {
    constructor: StillNeededError,
    message: `${hostLabel(host('other'))} still serves note 2.0.0`,
  })
  await t.rejects(assertUnusedByHosts(['note'], {}, others, 0), 'removed here')
  await assertUnusedByHosts(['visit'], here.modules, others, 0)
  await assertUnusedByHosts(['constructor'], {}, others, 0)
  const following = assertUnusedByHosts(['note'], here.modules, others)
  other.calling.self = host('other')
  await other.roll.beat()
  await following
})
