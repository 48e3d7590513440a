import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { databaseAddress, readConfig } from '@mortise/application'
import { openStorage } from '@mortise/host'
import { sql } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { Kills } from '../../harness/kills.ts'
import type { Round } from '../../harness/round.ts'
import { writeTallyModule } from '../../harness/tally-module.ts'
import { until } from '../../harness/until.ts'

const TRANSACTIONS = 300
const AT_ONCE = 16
/** A host is killed after this many responses. */
const KILL_AFTER = [20, 150] as const
const SUBJECTS = 40
/** The time limit until the module has handled the last event, in milliseconds. */
const PATIENCE = 120_000

/** Changes with events, on hosts that are killed. The emitted and handled events must be exactly the committed ones. */
export const outbox = defineRun({
  promise:
    'Every committed change has its event, no other change has one, and a module handles each event once and in order.',
  needed: ['hosts killed', 'transactions rolled back'],
  engines: onBothEngines,
  async round(round) {
    const { random } = round
    const modules = [await writeTallyModule(join(round.folder, 'tally'))]
    const hosts = await HostGroup.start(round, { modules })
    const caller = hosts.caller()
    const kills = new Kills(hosts, round, KILL_AFTER)
    let left = TRANSACTIONS
    const change = async () => {
      while (left > 0) {
        left -= 1
        const subjects = Array.from({ length: random.between(1, 3) }, () => `s${random.between(1, SUBJECTS)}`)
        const body = { subjects: [...new Set(subjects)], fails: random.chance(0.1) }
        const status = await caller.post('/tally', body).then(
          (reply) => reply.status,
          // The outcome is unknown; the host is starting.
          () => pause(100, undefined),
        )
        if (status === 200) round.count('transactions acknowledged')
        if (status === 500) round.count('transactions rolled back')
        kills.responded()
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, change))
    await kills.end()

    let reported = ''
    const isHandled = async () => {
      const reply = await caller.get('/tally')
      reported = reply.text
      return reply.json.raised === reply.json.heard
    }
    if (!(await until(isHandled, PATIENCE, 100)))
      round.fail(`not all was handled within ${PATIENCE / 1000} s: ${reported}`)
    await hosts.stop()
    const storage = await openStorage(databaseAddress(await readConfig(hosts.directory, {})))
    await compare(round, storage).finally(() => storage.close())
  },
})

/** Compares the emitted and handled events with the committed changes. */
async function compare(round: Round, storage: Storage): Promise<void> {
  await storage.sequenceOutbox()
  const events = await storage.many<{ position: number; id: string; subject: string; data: string }>(
    sql`SELECT position, id, subject, data FROM mortise_event ORDER BY position`,
  )
  round.count('events', events.length)
  if (events.some(({ position }, index) => position !== index + 1)) round.fail('positions have gaps')
  if (new Set(events.map(({ id }) => id)).size < events.length) round.fail('events have the same id')
  const reported = new Map<string, number>()
  for (const { subject, data } of events) {
    const before = reported.get(subject) ?? 0
    const { value } = JSON.parse(data)
    if (value !== before + 1) round.fail(`${subject}: after ${before} it was sent ${value}`)
    reported.set(subject, value)
  }
  const committed = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally`,
  )
  for (const { subject, value } of committed) {
    const last = reported.get(subject)
    if (last !== value) round.fail(`${subject} is ${value}, and was reported to be ${last}`)
  }
  if (committed.length !== reported.size) round.fail('of some only events are there')
  const wrong = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally_wrong`,
  )
  for (const { subject, value } of wrong) round.fail(`${subject}: ${value} was handled twice, or too early`)
}
