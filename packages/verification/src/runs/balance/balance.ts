import { join } from 'node:path'
import { mustRun, runApp, startHost } from '../../harness/app.ts'
import { bearer, Caller } from '../../harness/caller.ts'
import { defineRun } from '../../harness/define-run.ts'
import { copiesOf } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import { type Habits, Shopper } from '../../harness/shopper.ts'
import { prepareChanges } from './changes.ts'
import { hasNginx, startNginx } from './nginx.ts'

/** Of each host, in every other round. */
const WORKERS = 2
/** The number of shoppers per shared cart. Half of the shoppers share carts. */
const SHARING = 4

const sizes = {
  slice: { hosts: 2, clients: 8, restarts: 1 },
  round: { hosts: 3, clients: 64, restarts: Number.POSITIVE_INFINITY },
}

/**
 * Several hosts, each with its own folder, on one PostgreSQL. Shoppers use them in turn while a third
 * module is changed on each, and after each change one of them replaces its workers. No request may
 * fail.
 */
export const balance = defineRun({
  promise:
    'Several hosts on one PostgreSQL lose and duplicate nothing while callers switch between them, a module changes on each, and their workers are replaced.',
  needed: ['changes', 'purchases'],
  engines: () => ['postgres'],
  async round(round) {
    const { folder, random, agent, isSlice, seed } = round
    const size = sizes[isSlice ? 'slice' : 'round']
    const workers = seed % 2 === 0 ? WORKERS : undefined
    const first = join(folder, 'host')
    const application = await prepareApplication(first, ['@mortise/api-cart', '@mortise/api-purchase'])
    const databases = Array.from({ length: size.hosts }, () => round.database as string)
    const directories = await copiesOf(first, databases)
    const hosts = await Promise.all(
      directories.map(async (directory) => {
        const host = await startHost(directory, { workers })
        round.teardown(() => host.stop())
        return host
      }),
    )
    const isBehind = !isSlice && hasNginx()
    const balancer = isBehind
      ? await startNginx(
          round,
          join(folder, 'nginx'),
          hosts.map(({ port }) => port),
        )
      : undefined
    let turn = 0
    const target = () => balancer ?? (hosts[turn++ % hosts.length]?.url as string)

    /** The third module may be installed or absent. */
    const readThird = async (caller: Caller) => {
      const { status, text } = await caller.get('/tally')
      if (status !== 200 && status !== 404) throw new Error(`GET /tally got ${status} ${text}`)
    }
    const habitsOf = (caller: Caller): Habits => ({
      does: [
        [5, 'addition'],
        [2, 'purchase'],
        [3, 'look'],
        [1, () => readThird(caller)],
      ],
      keyed: [],
      // Steady load, not peak load.
      pause: [0, 150],
      mayGet: ({ status, code }) => status < 300 || code === 'busy',
    })
    const ownCarts = size.clients / 2 + size.clients / 2 / SHARING
    const distinct = (await mintUsers(application, ownCarts)).map((token, number) => {
      const caller = new Caller(agent, target, bearer(token))
      return new Shopper(caller, new Random(seed * 1000 + number), habitsOf(caller))
    })
    const others = distinct
      .slice(0, size.clients / 2 / SHARING)
      .flatMap((shopper) =>
        Array.from({ length: SHARING - 1 }, () => shopper.another(new Random(random.next() * 1e9))),
      )
    const all = [...distinct, ...others]
    round.teardown(() => Promise.all(all.map((shopper) => shopper.stop())))
    for (const shopper of all) shopper.start()

    let restarts = 0
    for (const argv of await prepareChanges(folder)) {
      for (const directory of directories) {
        if (round.signal.aborted) break
        const { exitCode, said } = await runApp(directory, argv)
        if (exitCode !== 0) round.fail(`"app ${argv.join(' ')}" ended with ${exitCode}: ${said}`)
        round.count('changes')
      }
      if (workers === undefined || restarts >= size.restarts) continue
      await mustRun(directories[restarts % directories.length] as string, [['restart']])
      restarts += 1
    }
    await Promise.all(all.map((shopper) => shopper.stop()))
    for (const shopper of others) round.fail(...shopper.failures)
    for (const shopper of distinct) round.fail(...(await shopper.check()))
    for (const shopper of all) {
      round.count('requests', shopper.requests)
      round.count('asked to try again', shopper.denied)
    }
    round.count('rolling restarts', restarts)
    round.count(
      'purchases',
      distinct.reduce((sum, { bought }) => sum + bought.length, 0),
    )
  },
})
