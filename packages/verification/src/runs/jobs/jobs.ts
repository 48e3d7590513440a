import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { signal } from '../../harness/signal.ts'
import { moduleJson, writeFiles } from '../../harness/write-files.ts'

const KILLS = 5
const AT_ONCE = 4
/** How long a response takes, in milliseconds, so that kills meet jobs in progress. */
const WORK = 20
/** A job is lost when no other job has arrived for this long, in milliseconds. */
const PATIENCE = 60_000

/** Stores jobs on hosts that are killed; the receiver of the jobs notes each one that arrives. */
export const jobs = defineRun({
  promise:
    'Each job that a committed change asked for is done, also if hosts are killed. It is done twice only if the host was killed during the first time, and never by two hosts at once.',
  needed: ['jobs acknowledged', 'hosts killed'],
  engines: onBothEngines,
  async round(round) {
    const { random } = round
    /** By job: its number, and the process that did it last. */
    const arrived = new Map<string, { readonly number: number; readonly pid: number }>()
    const open = new Set<string>()
    let lastArrival = Date.now()
    const receiver = await startReceiver(round, async ({ id, number, pid }, response) => {
      if (open.has(id)) round.fail(`the job of ${number} is done by two at once`)
      const before = arrived.get(id)
      if (before === undefined) lastArrival = Date.now()
      else {
        round.count('jobs done twice')
        if (signal(before.pid, 0)) round.fail(`the job of ${number} is done again without a kill`)
      }
      arrived.set(id, { number, pid })
      open.add(id)
      response.once('close', () => open.delete(id))
      await pause(WORK)
      response.end()
    })
    const modules = [await writeMailModule(join(round.folder, 'mail'), receiver)]
    const hosts = await HostGroup.start(round, { modules })

    const acknowledged = new Set<number>()
    const refused = new Set<number>()
    let next = 0
    let isOver = false
    const client = async () => {
      const caller = hosts.caller()
      while (!isOver) {
        const number = next++
        const fails = random.chance(0.1)
        // Without a response the outcome is unknown, and the host is starting.
        const reply = await caller.post('/mail', { number, fails }).catch(() => pause(50, undefined))
        if (reply?.status === 202) acknowledged.add(number)
        if (fails) refused.add(number)
      }
    }
    const clients = Promise.all(Array.from({ length: AT_ONCE }, client))
    for (let kill = 0; kill < KILLS; kill += 1) {
      await pause(random.between(100, 600))
      await hosts.any(random).killAndStart()
      round.count('hosts killed')
    }
    isOver = true
    await clients

    const numbers = () => new Set(Array.from(arrived.values(), ({ number }) => number))
    const missing = () => [...acknowledged].filter((number) => !numbers().has(number))
    while (missing().length > 0 && Date.now() < lastArrival + PATIENCE) await pause(50)
    round.fail(...missing().map((number) => `the job of ${number} is lost`))
    for (const number of numbers())
      if (refused.has(number)) round.fail(`the job of ${number} is done, and its transaction failed`)
    round.count('jobs acknowledged', acknowledged.size)
    round.count('transactions rolled back', refused.size)
  },
})

/** Writes a module with POST /mail, which stores a job; the job sends its number and its process to `receiver`. */
const writeMailModule = (folder: string, receiver: string) =>
  writeFiles(folder, {
    'package.json': moduleJson('mail', '1.0.0', { routes: ['POST /mail'] }),
    'dist/index.js': `
    import { respond, defineModule } from '@mortise/module-sdk'
    import { Type } from '@sinclair/typebox'

    export default defineModule('mail').plugin(async (app, { work }) => {
      const mail = work('mail', { timeout: 10_000 }, async ({ id, data, signal }) => {
        const body = JSON.stringify({ id, number: data.number, pid: process.pid })
        const response = await fetch('${receiver}', { method: 'POST', body, signal })
        if (!response.ok) throw new Error('refused')
      })
      app.post('/mail', {
        config: { access: 'public' },
        schema: { body: Type.Object({ number: Type.Integer(), fails: Type.Boolean() }) },
      }, (request) => request.transaction(function* () {
        yield* mail.add({ number: request.body.number })
        if (request.body.fails) throw new Error('on purpose')
        return respond(202, {})
      }))
    })`,
  })
