import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeRegistry } from '../../../../installer/test/fake-registry.ts'
import { defineRun } from '../../harness/define-run.ts'
import { whyNoStrace } from '../../harness/strace.ts'
import { Checkers } from './check-worker.ts'
import { commandNames, type Prepared, prepare } from './commands.ts'
import { samplePackages } from './sample-packages.ts'
import { killBesideHost, killCommand, killHost, type Point } from './victims.ts'

/** A system call with a kill after it, and what does not hold then. */
type Tried = Point & { readonly failure?: string | undefined }

/**
 * Kills at every nth system call that changes something. Without a host one run is enough for all
 * kills; killing a host, or killing beside one, takes a run each.
 */
const EVERY = 100
const EVERY_BESIDE_HOST = 60

/** A round takes one command. It keeps the folders of failed points. */
export const kill = defineRun({
  promise:
    'After a kill of a command, or of the host that carries it out, at any system call, the application is as before or as after, and the next command cleans up.',
  needed: ['kills'],
  whyNot: whyNoStrace,
  async round(round) {
    const { random } = round
    const command = random.oneOf(commandNames)
    const folder = await mkdtemp(join(tmpdir(), 'kill-points-'))
    const { registry } = await fakeRegistry(round, samplePackages)
    Object.assign(process.env, {
      npm_config_registry: registry,
      npm_config_cache: join(folder, 'npm-cache'),
      npm_config_userconfig: join(folder, 'no.npmrc'),
    })
    const prepared = await prepare(folder, command)
    const checkers = new Checkers()
    round.teardown(() => checkers.stop())
    const tryVictim = async (victim: string, work: (place: string) => Promise<readonly Tried[]>) => {
      const place = join(folder, victim)
      await mkdir(place)
      for (const { number, call, failure } of await work(place)) {
        round.count('different states checked')
        if (failure !== undefined)
          round.fail(`${command}, ${victim} killed at call ${number} (${call}): ${failure}`)
      }
    }
    const offset = random.between(0, EVERY - 1)
    await tryVictim('the command', async (place) => {
      const checks: Promise<Tried>[] = []
      const kills = await killCommand(
        prepared,
        place,
        (number) => number % EVERY === offset,
        (point, directory) => {
          checks.push(checkers.check(prepared, directory).then((failure) => ({ ...point, failure })))
        },
      )
      round.count('kills', kills)
      return Promise.all(checks)
    })
    const number = random.between(1, EVERY_BESIDE_HOST)
    const one = async (point: Promise<Tried | undefined>): Promise<readonly Tried[]> => {
      const tried = await point.catch(({ message }: Error) => ({ number, call: '?', failure: message }))
      if (tried === undefined) return []
      round.count('kills')
      return [tried]
    }
    await tryVictim('the command beside a host', (place) => one(killBesideHost(prepared, place, number)))
    await tryVictim('the host', (place) => one(killHostAndCheck(prepared, place, number, checkers)))
    if (round.holds) await rm(folder, { recursive: true })
    else round.fail(`What it left is in ${folder}`)
  },
})

async function killHostAndCheck(
  prepared: Prepared,
  folder: string,
  number: number,
  checkers: Checkers,
): Promise<Tried | undefined> {
  const killed = await killHost(prepared, folder, number)
  if (killed === undefined) return undefined
  return { ...killed, failure: await checkers.check(prepared, killed.directory) }
}
