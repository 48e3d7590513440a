import { join } from 'node:path'
import { App, mustRun, startWords } from '../../harness/app.ts'
import { defineRun } from '../../harness/define-run.ts'
import { ModuleChanges, type ModuleState, moduleIn, servedOf } from '../../harness/module-changes.ts'
import { around, disturb, nextMoment, read, responsesUntilGone } from './moments.ts'

/** The number of changes in a round, and in the slice. */
const CHANGES = 10
const SLICE = 4

export const changesAtStart = defineRun({
  promise:
    'A change at any moment around the start or the stop of a host is served when its command has ended with 0: by that host, or by the next.',
  needed: ['changes'],
  // Of three rounds one is on SQLite, one on PostgreSQL, one on PostgreSQL with workers.
  engines: ({ seed, isSlice }) => [isSlice || seed % 3 === 0 ? 'sqlite' : 'postgres'],
  async round(round) {
    const { random, isSlice, signal } = round
    const workers = !isSlice && round.seed % 3 === 2 ? 2 : undefined
    const directory = join(round.folder, 'application')
    const environment = { APP_DATABASE: round.database }
    const app = (argv: readonly string[]) => new App(directory, argv, { environment })
    const startHost = (drain = 0) =>
      new App(directory, startWords(workers), {
        environment: { ...environment, APP_SERVER_DRAIN_SECONDS: `${drain}` },
      })
    await mustRun(directory, [['init']], { environment })
    const changes = new ModuleChanges(round.folder, random)
    let flip: ModuleState = { version: undefined, isEnabled: true, mark: 0 }
    let host: App | undefined
    round.teardown(() => host?.kill())

    const makeOne = async () => {
      const change = await changes.next('flip', flip)
      const moment = nextMoment(random)
      const command = () => app(change.argv)
      const what = `app ${change.argv.join(' ')} at a ${moment}`

      const atStop = async () => {
        round.count('around a stop')
        const stopping = host ?? startHost(random.chance(0.3) ? 1 : 0)
        const url = await stopping.serving()
        host = undefined
        const { changing, offset } = await around(random, () => stopping.signal('SIGTERM'), command)
        const ended = await changing.ended
        const responses = ended.exitCode === 0 ? await responsesUntilGone(url, stopping) : []
        if (responses.length > 0) round.count('served by the host that started or stopped')
        for (const response of responses)
          if (response !== servedOf(change.after))
            round.fail(`${what} (${offset} ms): a host that stops serves ${response} after it`)
        await stopping.ended
        return { ended, offset }
      }

      const atStart = async () => {
        await host?.stop()
        host = undefined
        const { happened: starting, changing, offset } = await around(random, () => startHost(), command)
        await disturb(moment, random, starting)
        const ended = await changing.ended
        if (moment === 'killed start') {
          round.count('with a killed host')
          await starting.ended
          return { ended, offset }
        }
        round.count(moment === 'start' ? 'around a start' : 'with a frozen host')
        host = starting
        const served = await starting.serving().then(read)
        if (ended.exitCode === 0) {
          round.count('served by the host that started or stopped')
          if (served !== servedOf(change.after))
            round.fail(`${what} (${offset} ms): the host serves ${served} after it`)
        }
        return { ended, offset }
      }

      const { ended, offset } = await (moment === 'stop' ? atStop() : atStart())
      round.count('changes')
      if (ended.exitCode === 0) flip = change.after
      else {
        if (moment === 'start' || moment === 'stop')
          round.fail(`${what} (${offset} ms) ended with ${ended.exitCode}: ${ended.said}`)
        round.count('refused or reverted beside a killed or frozen host')
        await mustRun(directory, [['doctor', '--fix']], { environment })
        flip = await moduleIn(directory, 'flip')
      }
      host ??= startHost()
      const served = await host.serving().then(read)
      if (served !== servedOf(flip))
        round.fail(`${what} (${offset} ms) ended with ${ended.exitCode}: ${served} is served later`)
    }
    for (let made = 0; made < (isSlice ? SLICE : CHANGES) && round.holds && !signal.aborted; made += 1)
      await makeOne()
  },
})
