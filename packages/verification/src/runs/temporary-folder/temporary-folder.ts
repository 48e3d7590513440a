import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { mustRun, runApp, startHost } from '../../harness/app.ts'
import { defineRun } from '../../harness/define-run.ts'
import { shoppersOf } from '../../harness/shoppers.ts'

const USERS = 8
/** The number of commands beside the host in one round. */
const COMMANDS = 3

/** A rollback has an installation to undo, or another change after it. */
const commands: readonly (readonly [weight: number, commands: readonly (readonly string[])[]])[] = [
  [1, [['module-install', 'api-event']]],
  [1, [['module-install', 'api-event', '--dry-run']]],
  [1, [['module-disable', 'api-cart']]],
  [1, [['module-enable', 'api-cart']]],
  [
    1,
    [
      ['module-install', 'api-event'],
      ['module-rollback', '--yes'],
    ],
  ],
  [1, [['module-rollback', '--dry-run']]],
  [1, [['module-info', 'api-cart']]],
  [1, [['doctor']]],
  [1, [['token', 'alice']]],
  [1, [['openapi']]],
]

/**
 * Runs a program in its own mount namespace, where everything except one folder is read-only. The
 * system's temporary folders are read-only too, and root is confined as well.
 */
const SCRIPT = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
for at in / /tmp /var/tmp /usr/tmp /dev/shm /run; do
  if mountpoint -q "$at"; then mount -o remount,bind,ro "$at"; fi
done
for at in /tmp /var/tmp; do
  if touch "$at/mortise-$$" 2>/dev/null; then rm "$at/mortise-$$"; echo "$at is writable" >&2; exit 1; fi
done
cd "$2"
shift 2
exec "$@"`

export const temporaryFolder = defineRun({
  promise:
    'Host and commands work when only the application folder is writable: no temporary folder, no cache, no working directory.',
  needed: ['purchases acknowledged'],
  async round(round) {
    const { random, folder } = round
    const unshare = ['unshare', process.getuid?.() === 0 ? '-m' : '-rm']
    const under = [...unshare, 'sh', '-c', SCRIPT, 'sh', folder, '/']
    const [program = '', ...words] = [...under, 'true']
    if ((await promisify(execFile)(program, words).catch(() => undefined)) === undefined) {
      round.skipped = 'this user cannot make file systems read-only (unshare -m)'
      return
    }
    const nowhere = (): string | undefined =>
      random.weighted([
        [1, undefined],
        [1, '/var/tmp'],
        [1, join(folder, 'missing', 'folder')],
      ])
    const environment = { TMPDIR: nowhere(), SQLITE_TMPDIR: nowhere(), npm_config_cache: '/var/cache/npm' }
    const options = { under, environment }
    const app = async (argv: readonly string[]) => {
      const { how, said } = await runApp(folder, argv, options)
      round.count('commands')
      if (how !== 0) round.fail(`app ${argv.join(' ')} ended with ${how}: ${said.slice(-500)}`)
    }
    await mustRun(folder, [['init'], ['module-install', 'api-cart', 'api-purchase']], options)
    const host = await startHost(folder, options)
    round.teardown(() => host.kill())
    const shoppers = await shoppersOf(round, folder, USERS)
    shoppers.start(host.url)
    await pause(random.between(50, 400))
    for (let time = 0; time < COMMANDS && round.holds; time += 1)
      for (const argv of random.weighted(commands)) await app(argv)
    if (random.chance(0.5)) await app(['backup', join(folder, 'shop.tgz')])
    if (host.hasEnded) round.fail(`the host ended: ${host.end}`)
    await shoppers.stop()
    if (shoppers.denied > 0) round.fail(`${shoppers.denied} purchases were refused`)
    await shoppers.conclude(round, host)
  },
})
