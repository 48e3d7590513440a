import { readLockFile } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import type { Applied } from '@mortise/installer'
import { changeModules, newestAlready } from '@mortise/installer'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--yes', 'trust a folder or .tgz file that is a new source; without a terminal, it needs that'],
    ['--disable-incompatible', 'disable modules that do not support it, in the same change'],
    [
      '--dry-run',
      'print the plan, check and probe as the upgrade does, and change nothing; of a new source no code runs without --yes',
    ],
    ['--offline', "use no network: only folders, files, folders of tarballs and npm's cache"],
  ],
  examples: [
    'app host-upgrade                 # the newest version',
    'app host-upgrade 1.1.0 --dry-run',
    'app host-upgrade ../mortise/cli --yes # a folder or .tgz file',
  ],
  changes: true,
  repairsHost: true,

  async run({ arguments: [named], options, terminal, application }) {
    const version = named ?? 'latest'
    const directory = await application()
    const disableIncompatible = options.disableIncompatible === true
    const dryRun = options.dryRun === true
    const offline = options.offline === true
    const newest =
      named === undefined
        ? await terminal.during('Looking for a newer host', () => newestAlready(directory, offline))
        : undefined
    const command = ['host-upgrade', version, ...(disableIncompatible ? ['--disable-incompatible'] : [])]
    if (newest !== undefined) {
      const { generation } = await readLockFile(directory)
      const nothing = { generation, host: null, disabled: [], dryRun, running: await runningHost(directory) }
      const text = `Nothing to do: there is no newer host than ${newest}.`
      return terminal.result({ ...nothing, live: false }, text)
    }
    const outcome = await changeModules({
      ...{ kind: 'host-upgrade', version, directory, command: command.join(' '), terminal },
      ...{ yes: options.yes === true, dryRun, disableIncompatible, offline },
    })
    const running = await runningHost(directory)
    const { generation, hostPlan: host, switched } = outcome
    const disabled = host?.outside.map(({ id }) => id) ?? []
    terminal.result(
      { generation, host: host ?? null, disabled, dryRun, running, live: switched?.live ?? false },
      describe(outcome, disabled, dryRun, running),
    )
  },
}

async function runningHost(directory: string) {
  const state = await callRunningHost(directory, 'state')
  return state === undefined ? null : { pid: state.pid, version: state.host }
}

function describe(
  { hostPlan: host, generation }: Applied,
  disabled: readonly string[],
  dryRun: boolean,
  running: { readonly pid: number; readonly version: string } | null,
): string {
  if (host === undefined) return 'Nothing to do: this host is already pinned.'
  const { from, to } = host
  const instead = from === to ? ', the version that already runs the application' : ` instead of ${from}`
  if (dryRun) return `Would pin host ${to}${instead}.`
  return [
    `Pinned host ${to}${instead}, as generation ${generation}.`,
    ...disabled.map((id) => `Disabled ${id}.`),
    running === null
      ? 'Next: app start'
      : `Process ${running.pid} still runs host ${running.version}: restart it (systemctl restart …, or stop it and "app start").`,
    'To go back: app module-rollback, then restart the host.',
  ].join('\n')
}
