import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { buyersOf } from '../../harness/buyers-of.ts'
import { ConfinedHost, type Confinement, runConfined } from '../../harness/confined-app.ts'
import type { Random } from '../../harness/random.ts'
import { outcome } from '../../harness/repeat.ts'
import type { Outcome } from '../../harness/verification.ts'

const USERS = 8
/** The number of commands beside the host in one round. */
const COMMANDS = 3

const commands: readonly (readonly [weight: number, argv: readonly string[]])[] = [
  [1, ['module-install', 'api-event']],
  [1, ['module-install', 'api-event', '--dry-run']],
  [1, ['module-disable', 'api-cart']],
  [1, ['module-enable', 'api-cart']],
  [1, ['module-rollback', '--yes']],
  [1, ['module-rollback', '--dry-run']],
  [1, ['module-info', 'api-cart']],
  [1, ['doctor']],
  [1, ['token', 'alice']],
  [1, ['openapi']],
]

/** Users purchase while commands run. Only the application folder is writable. */
export async function runTemporaryFolder(
  directory: string,
  confinement: Confinement,
  random: Random,
): Promise<Outcome> {
  const nowhere = (): string | undefined =>
    random.weighted([
      [1, undefined],
      [1, '/var/tmp'],
      [1, join(directory, 'missing', 'folder')],
    ])
  const environment = { TMPDIR: nowhere(), SQLITE_TMPDIR: nowhere(), npm_config_cache: '/var/cache/npm' }
  const options = { directory, confinement, environment }
  const failures: string[] = []
  let run = 0
  const app = async (argv: readonly string[]) => {
    const { exitCode, said } = await runConfined(options, argv)
    run += 1
    if (exitCode !== 0) failures.push(`app ${argv.join(' ')} ended with ${exitCode}: ${said.slice(-500)}`)
  }
  await app(['init'])
  await app(['module-install', 'api-cart', 'api-purchase'])
  if (failures.length > 0) return { figures: { commands: run }, failures }
  const buyers = await buyersOf(directory, USERS)
  const host = await ConfinedHost.start(options)
  try {
    buyers.start(host.url)
    await pause(random.between(50, 400))
    for (let time = 0; time < COMMANDS && failures.length === 0; time += 1)
      await app(random.weighted(commands))
    if (random.chance(0.5)) await app(['backup', join(directory, 'shop.tgz')])
    if (host.hasEnded) failures.push(`the host ended: ${host.end}`)
    await buyers.stop()
    if (buyers.denied > 0) failures.push(`${buyers.denied} purchases were refused`)
    if (!host.hasEnded) failures.push(...(await buyers.check(host.url)))
  } finally {
    await buyers.stop()
    await host.kill()
    buyers.close()
  }
  const figures = { commands: run, 'purchases acknowledged': buyers.acknowledged }
  return outcome(figures, failures, ['purchases acknowledged'])
}
