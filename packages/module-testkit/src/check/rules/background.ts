import { seen } from '../watch/seen.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'

/** More runs than there are rows. */
const RUNS = 1500

export const endlessWork: Rule<World> = {
  code: 'endless-work',
  finds: 'work of `everyMinute` that always has more to do, or fails: the host runs it without a pause',
  remedy:
    'Return true only if the run has changed as many rows as it takes at most; make each row that it takes one that it does not take again.',
  async find(world) {
    const found: Found[] = []
    for (const { work, where } of world.module.minutes.values()) {
      let runs = 0
      try {
        while (runs < RUNS && (await world.storage.transaction(work))) runs += 1
      } catch (error) {
        found.push({ where, why: `it fails: ${(error as Error).message}` })
      }
      if (runs === RUNS) found.push({ where, why: `it has returned true ${RUNS} times in a row` })
    }
    return found
  },
}

export const jobsWithoutId: Rule<World> = {
  code: 'job-without-id',
  finds: 'a job that changes something in another system without its id: a job may happen twice',
  remedy: "Send the id of the job as idempotency key: headers: { 'idempotency-key': id }.",
  async find({ module }) {
    return seen.flatMap(({ what, job, method = 'GET', sent = '', name, stack }): Found[] => {
      if (what !== 'network' || job === undefined || /^(GET|HEAD|PUT|DELETE)$/i.test(method)) return []
      if (sent.includes(job) || /idempotency|deduplication|request-id/i.test(sent)) return []
      const where = module.place(stack) ?? [...module.works.values()][0] ?? 'index.js'
      return [{ where, why: `the job sends ${method} ${name} without its id` }]
    })
  },
}
