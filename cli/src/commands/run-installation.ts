import { writeConfigSchema } from '../application/application-folder.ts'
import { describeHost, differingHosts } from '../application/other-hosts.ts'
import type { Applied } from '../install/apply/apply.ts'
import type { Asked } from '../install/input.ts'
import { changeModules } from '../install/pipeline.ts'
import { secondsToSettle, settledText, settleOption, waitUntilSettled } from '../install/settle.ts'
import { isServed } from '../store/installed-state.ts'
import type { Call } from '../terminal/command.ts'

/** The options of every command that installs. */
export const installationOptions = [
  [
    '--yes',
    'do not ask: about an origin that nothing installed has, and about what breaks; asked on a terminal only, never when piped',
  ],
  [
    '--fail-on-breaking',
    'refuse what breaks callers or other modules (exit code 4), piped too; a dry run knows the part that files tell',
  ],
  ['--dry-run', 'print the plan and change nothing'],
  ['--offline', "no network: folders, files, bundles, directories of tarballs, and npm's cache"],
  settleOption,
] as const

/** Runs a command that installs, and reports the result. */
export async function runInstallation(
  { arguments: words, options, terminal, application }: Call,
  name: string,
  asked: Asked,
): Promise<void> {
  const seconds = secondsToSettle(options.settle)
  const directory = await application()
  const command = [name, ...words].join(' ')
  const dryRun = options.dryRun === true
  const yes = options.yes === true
  const failOnBreaking = options.failOnBreaking === true
  const offline = options.offline === true
  const request = { directory, command, terminal, yes, dryRun, offline, failOnBreaking }
  const result = installedBy(await changeModules({ ...asked, ...request }))
  if (!dryRun) await writeConfigSchema(directory)
  const { switched, ...rest } = result
  const live = switched?.live ?? (await isServed(directory))
  const migrations = switched?.migrations ?? []
  const lagging = switched?.live ? await differingHosts(directory) : []
  const elsewhere = lagging.map((host) => `Not yet on ${describeHost(host)}`)
  if (lagging.length > 0)
    elsewhere.push('Those that share this folder follow by themselves; give the others the same command.')
  const settled = await waitUntilSettled(directory, switched, seconds, terminal)
  const text = [describe(result, dryRun), ...elsewhere, ...settledText(settled)].join('\n')
  const document = { ...rest, dryRun, live, migrations, differingHosts: lagging }
  terminal.result({ ...document, ...(settled !== undefined && { settled }) }, text)
}

/** The result, for programs. */
function installedBy(applied: Applied) {
  const { input, switched, generation, former, target, pinned, missing, fromOutside } = applied
  const { arriving, plans, restored, restoredPlans, hostPlan: host } = applied
  const isNew = (id: string) => arriving.some((module) => module.id === id)
  const isFetched = (id: string) => restored.some(({ name }) => name === id)
  const there = fromOutside
    ? Object.keys(target.modules).filter((id) => !isNew(id) && Object.hasOwn(former.modules, id))
    : pinned
  const sound = there.filter((id) => !missing.includes(id))
  return {
    switched,
    generation,
    disabled: arriving.flatMap(({ id, locked }) => (locked.enabled || input.dryRun ? [] : [id])),
    unchanged: [...new Set([...sound, ...applied.unchanged])],
    /**
     * Packages that were missing or damaged in the store and are restored; on a dry run, packages
     * to restore.
     */
    restored: missing,
    /** The plans of the restored modules. */
    fetched: [...restoredPlans, ...plans.filter(({ id }) => isFetched(id))],
    /** The installed modules; on a dry run, the modules to install. */
    installed: plans,
    host,
  }
}

/** The result, for people. */
function describe(
  { switched, installed, disabled, host, unchanged, restored }: ReturnType<typeof installedBy>,
  dryRun: boolean,
): string {
  const done = dryRun ? 'Would install' : 'Installed'
  const fetched = dryRun ? 'Would fetch again' : 'Fetched again'
  const lines = [
    ...(host ? [`${done} host ${host.to} instead of ${host.from}: the next start runs it`] : []),
    ...restored.map((id) => `${fetched}: ${id}`),
    ...unchanged
      .filter((id) => !restored.includes(id))
      .map((id) => `Nothing to do: ${id} is installed already.`),
    ...installed.map(({ id, version, replaces }) =>
      replaces === null ? `${done} ${id} ${version}` : `${done} ${id} ${version} instead of ${replaces}`,
    ),
  ]
  if (disabled.length > 0) lines.push(`Switched off still. Next: app module-enable ${disabled.join(' ')}`)
  else if (switched?.live && host && installed.length === 0)
    lines.push(
      'The running host goes on with the former: restart it (systemctl restart …, or stop it and "app start").',
    )
  else if (switched) lines.push(switched.live ? 'The running host serves it.' : 'Next: app start')
  return lines.length > 0 ? lines.join('\n') : 'Nothing to do: nothing is installed.'
}
