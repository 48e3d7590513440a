import { type Decision, decisionOf } from '@mortise/application'
import type { Applied, Asked } from '@mortise/installer'
import { planOptions, settledText, settleOption } from '@mortise/installer'
import { describeHost, differingHosts } from '@mortise/installer/application'
import type { Call } from '../terminal/command.ts'
import { changeInstalled } from './change-installed.ts'

export const installationOptions = [
  [
    '--yes',
    'trust new sources and accept breaking changes without a question; without a terminal, a new source needs it',
  ],
  ['--fail-on-breaking', 'refuse breaking changes (exit code 4), without a terminal too'],
  ['--allow-new', 'install packages that are younger than "install.minAgeHours" (72); the history names it'],
  ...planOptions,
  ['--offline', "use no network: only folders, files, bundles, folders of tarballs and npm's cache"],
  settleOption,
] as const

export async function runInstallation(call: Call, name: string, asked: Asked): Promise<void> {
  const applied = await changeInstalled(
    call,
    [name, ...call.arguments, ...(call.options.allowNew === true ? ['--allow-new'] : [])],
    asked,
  )
  const { directory, dryRun, live, settled, planned } = applied
  const { switched, ...rest } = installedBy(applied)
  const migrations = switched?.migrations ?? []
  const lagging = switched?.live ? await differingHosts(directory) : []
  const elsewhere = lagging.map((host) => `Not yet on ${describeHost(host)}`)
  if (lagging.length > 0)
    elsewhere.push('Hosts that share this folder follow by themselves. Run the same command for the others.')
  const text = [describe({ switched, ...rest }, dryRun), ...elsewhere, ...settledText(settled)].join('\n')
  const document = { ...rest, ...planned, live, migrations, differingHosts: lagging }
  call.terminal.result({ ...document, ...(settled !== undefined && { settled }) }, text)
}

function installedBy(applied: Applied) {
  const { input, switched, generation, previous, target, locked, missing, external } = applied
  const { arriving, plans, restored, restoredPlans, hostPlan: host } = applied
  const isNew = (id: string) => arriving.some((module) => module.id === id)
  const isFetched = (id: string) => restored.some(({ name }) => name === id)
  const there = external
    ? Object.keys(target.modules).filter((id) => !isNew(id) && Object.hasOwn(previous.modules, id))
    : locked
  const sound = there.filter((id) => !missing.includes(id))
  return {
    switched,
    generation,
    ...idle(input.dryRun ? [] : arriving),
    unchanged: [...new Set([...sound, ...applied.unchanged])],
    /** The packages that were missing or damaged in the store; on a dry run, those to restore. */
    restored: missing,
    fetched: [...restoredPlans, ...plans.filter(({ id }) => isFetched(id))],
    /** The installed modules; on a dry run, the modules to install. */
    installed: plans,
    host,
  }
}

/** The arriving modules that do not serve, by the operator's decision. */
function idle(arriving: Applied['arriving']) {
  const decided = (state: Decision['state']) =>
    arriving.flatMap(({ id, locked }) => (decisionOf(locked).state === state ? [id] : []))
  return { disabled: decided('disabled'), paused: decided('paused') }
}

function describe(
  { switched, installed, disabled, paused, host, unchanged, restored }: ReturnType<typeof installedBy>,
  dryRun: boolean,
): string {
  const done = dryRun ? 'Would install' : 'Installed'
  const fetched = dryRun ? 'Would download again' : 'Downloaded again'
  const lines = [
    ...(host ? [`${done} host ${host.to} instead of ${host.from}: the next start runs it`] : []),
    ...restored.map((id) => `${fetched}: ${id}`),
    ...unchanged
      .filter((id) => !restored.includes(id))
      .map((id) => `Nothing to do: ${id} is already installed.`),
    ...installed.map(({ id, version, replaces, isOlder }) => {
      const instead = replaces === null ? '' : ` instead of ${replaces}`
      return `${done} ${id} ${version}${instead}${isOlder ? ', which is newer' : ''}`
    }),
  ]
  if (disabled.length > 0) lines.push(`Still disabled. Next: app module-enable ${disabled.join(' ')}`)
  else if (paused.length > 0) lines.push(`Still paused. Next: app module-enable ${paused.join(' ')}`)
  else if (switched?.live && host && installed.length === 0)
    lines.push(
      'The running host still has the previous version: restart it (systemctl restart …, or stop it and "app start").',
    )
  else if (switched) lines.push(switched.live ? 'The running host serves it.' : 'Next: app start')
  return lines.length > 0 ? lines.join('\n') : 'Nothing to do: there are no modules.'
}
