import type { Newer } from '@mortise/installer'
import { describeHost, differingHosts } from '@mortise/installer/application'
import { nothingChecked } from '@mortise/installer/failures'
import {
  type InstalledState,
  installedStates,
  type Measurement,
  type ModuleUsage,
  moduleUsage,
  sizeOf,
} from '@mortise/installer/store'
import gt from 'semver/functions/gt.js'
import type { Command } from '../terminal/command.ts'
import { table } from '../terminal/table.ts'

export const command: Command = {
  options: [
    ['--outdated', 'look for newer versions at the source of each module'],
    ['--usage', 'measure for two seconds what each module uses'],
  ],
  examples: [
    'app module-list',
    'app module-list --verbose   # with the routes',
    'app module-list --json',
    'app module-list --outdated',
    'app module-list --usage',
  ],

  async run({ options, terminal, application }) {
    const directory = await application()
    const states = { ...(await installedStates(directory)), differingHosts: await differingHosts(directory) }
    const nothing = 'Nothing is installed. Next: app module-install api-cart'
    if (options.outdated === true) {
      const { findNewer } = await import('@mortise/installer')
      const newer = await terminal.during('Looking for newer versions', () => findNewer(directory))
      const modules = states.modules.map((state) => ({ ...state, ...newer.get(state.id) }))
      const lines = states.modules.flatMap((state) => newerLines(state, newer.get(state.id)))
      const text = lines.length > 0 ? lines.join('\n') : 'Nothing is outdated.'
      terminal.result({ ...states, modules }, modules.length === 0 ? nothing : text)
      const found = [...newer.values()]
      if (found.length > 0 && found.every(({ unreachable }) => unreachable !== null)) throw nothingChecked()
      return
    }
    if (options.usage === true) {
      const used = await terminal.during('Measuring for two seconds', () => moduleUsage(directory))
      const modules = states.modules.map((state) => ({ ...state, usage: used?.byId.get(state.id) ?? null }))
      const rows = modules.map(({ id, usage }) => [
        id,
        ...(usage === null ? ['does not serve'] : usageCells(usage)),
      ])
      const text =
        used === undefined
          ? 'No host runs. Next: app start'
          : `${table([usageHead, ...rows])}\n${inWords(used.measured)}`
      const measured = used?.measured ?? null
      terminal.result({ ...states, modules, measured }, rows.length === 0 ? nothing : text)
      return
    }
    const rows = states.modules.map(({ id, version, state, reason, until, routes }) => [
      ...[id, version, state, routesText(routes, terminal.verbose)],
      reason?.replace(/\s+/g, ' ') ?? (until === null ? '' : `until ${until}`),
    ])
    const where = states.url === null ? 'not running' : `served at ${states.url}`
    const elsewhere = states.differingHosts.map((host) => `Differs: ${describeHost(host)}`)
    const served = rows.length === 0 ? nothing : `Generation ${states.generation}, ${where}.`
    terminal.result(states, [...(rows.length > 0 ? [table(rows)] : []), served, ...elsewhere].join('\n'))
  },
}

const routesText = (routes: readonly string[], all: boolean) =>
  all ? routes.join(', ') : routes.length === 1 ? '1 route' : `${routes.length} routes`

const usageHead = [
  ...['module', 'responses', '5xx', 'seconds', 'in progress', 'connections'],
  ...['CPU', 'allocates'],
]

const usageCells = ({ responses, failures, seconds, inProgress, connections, ...taken }: ModuleUsage) => [
  ...[responses, failures, seconds.toFixed(1), inProgress, connections].map(String),
  ...[percent(taken.cpu), perSecond(taken.allocated)],
]

function inWords(measured: Measurement | null): string {
  if (measured === null) return 'CPU and allocations are not measured: a debugger is attached to the host.'
  const { seconds, processes, host, idle, garbageCollection } = measured
  const who = processes === 1 ? '' : `, ${processes} processes`
  const own = `host ${percent(host.cpu)}, which allocates ${perSecond(host.allocated)}`
  const collected = `garbage collection in all these ${percent(garbageCollection)}`
  return `Measured for ${seconds.toFixed(1)} s${who}: ${own}; idle ${percent(idle)}; ${collected}.`
}

const percent = (part: number | null) => (part === null ? '-' : `${(part * 100).toFixed(1)} %`)
const perSecond = (bytes: number | null) => (bytes === null ? '-' : `${sizeOf(bytes)}/s`)

function newerLines({ id, version }: InstalledState, newer: Newer | undefined): string[] {
  if (newer === undefined) return []
  const { wanted, latest, outdated, waiting, unreachable } = newer
  if (unreachable !== null) return [`${id} ${version}  cannot be checked: ${unreachable}`]
  const files = wanted === version ? ', other files' : ''
  return [
    ...(outdated ? [`${id} ${version} → ${wanted}${files}  app module-upgrade ${id}`] : []),
    ...(waiting
      ? [
          `${id} ${version} → ${waiting.version} from ${waiting.installable}, because it is new  app module-upgrade ${id}`,
        ]
      : []),
    ...(latest !== null && latest !== wanted && latest !== waiting?.version && gt(latest, version)
      ? [`${id} ${version} → ${latest}, outside its range  app module-upgrade ${id}@${latest}`]
      : []),
  ]
}
