import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { readLock } from '../host.ts'
import { changeApplication } from '../install/change-application.ts'
import { checkFrozen } from '../install/checks/frozen.ts'
import { type Installed, type InstallRequest, installModules } from '../install/install-modules.ts'
import { npmOptions } from '../install/npm-options.ts'
import { restoreStore, takeUpRestored } from '../install/restore-store.ts'
import { isServed } from '../installed-state.ts'

export const moduleInstall: Command = {
  name: 'module-install',
  summary: 'install modules as one change; without a name: bring the store in line with the lock',
  arguments: '[spec...]',
  options: [
    [
      '--yes',
      'do not ask about an origin that nothing installed has; asked on a terminal only, never when piped',
    ],
    ['--dry-run', 'print the plan and change nothing'],
    ['--offline', "no network: folders, files, bundles, directories of tarballs, and npm's cache"],
    ['--frozen', 'exactly what modules.lock.json names, or nothing'],
  ],
  examples: [
    'app module-install api-cart api-purchase',
    'app module-install ./my-module ../packed-1.0.0.tgz',
    'app module-install @acme/api-review@^2 npm:unscoped-module@1.4.0',
    'app module-install                        # a fresh machine: what modules.lock.json names',
    'app module-install ../shop-1.tgz --offline # what "app bundle" has written',
  ],

  async run({ arguments: specs, options, terminal, application }) {
    const directory = await application()
    const command = ['module-install', ...specs].join(' ')
    const request = {
      directory,
      command,
      terminal,
      yes: options.yes === true,
      dryRun: options.dryRun === true,
      offline: options.offline === true,
    }
    const result = await changeApplication(directory, command, terminal, async () => {
      if (options.frozen === true) await checkFrozen(directory, specs)
      return specs.length === 0 ? await restoreAll(request) : await installModules(request, specs)
    })
    if (!request.dryRun) await writeConfigSchema(directory)
    const { switched, ...rest } = result
    const live = switched?.live ?? (await isServed(directory, result.generation))
    terminal.result(
      { ...rest, dryRun: request.dryRun, live, migrations: switched?.migrations ?? [] },
      describeInstalled(result, request.dryRun),
    )
  },
}

async function restoreAll({ directory, command, offline }: InstallRequest): Promise<Installed> {
  const lock = await readLock(directory)
  const ids = Object.keys(lock.modules)
  const restored = await restoreStore(directory, lock, ids, await npmOptions(directory, process.env, offline))
  const switched = await takeUpRestored(directory, command, lock, restored)
  const unchanged = ids.filter((id) => !restored.includes(id))
  const generation = switched?.generation ?? lock.generation
  return { switched, generation, installed: [], unchanged, restored }
}

/** What came of it, for people. */
export function describeInstalled(
  { switched, installed, unchanged, restored }: Installed,
  dryRun: boolean,
): string {
  const done = dryRun ? 'Would install' : 'Installed'
  const lines = [
    ...restored.map((id) => `Fetched again: ${id}`),
    ...unchanged
      .filter((id) => !restored.includes(id))
      .map((id) => `Nothing to do: ${id} is installed already.`),
    ...installed.map(({ id, version, replaces }) =>
      replaces === null ? `${done} ${id} ${version}` : `${done} ${id} ${version} instead of ${replaces}`,
    ),
  ]
  if (switched) {
    lines.push(switched.live ? 'The running host serves it.' : 'Next: app start')
  }
  return lines.length > 0 ? lines.join('\n') : 'Nothing to do: nothing is installed.'
}
