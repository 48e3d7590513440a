import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Candidate } from './candidate.ts'
import { type Peer, peersOf } from './checks/host-range.ts'

/** What installing one module will do, from its files alone: nothing of it has run. */
export interface Plan {
  readonly id: string
  readonly package: string
  readonly version: string
  /** The version that it takes the place of. */
  readonly replaces: string | null
  readonly routes: readonly string[]
  readonly tables: string | null
  readonly migrations: readonly { readonly file: string; readonly reversible: boolean }[]
  /** The names of its settings. */
  readonly settings: readonly string[]
  readonly events: readonly string[]
  readonly provides: Readonly<Record<string, string>>
  readonly requires: Readonly<Record<string, string>>
  readonly optional: Readonly<Record<string, string>>
  readonly peers: readonly Peer[]
  readonly origin: string
  readonly files: number
  readonly bytes: number
  readonly integrity: string
}

export async function planOf(
  candidate: Pick<Candidate, 'package' | 'json' | 'from' | 'files' | 'bytes' | 'integrity'>,
  replaces: string | null,
): Promise<Plan> {
  const { name, version, manifest, directory, settingsSchema } = candidate.package
  const migrations =
    manifest.migrations === undefined ? [] : await readdir(join(directory, manifest.migrations))
  return {
    id: manifest.id,
    package: name,
    version,
    replaces,
    routes: manifest.routes,
    tables: manifest.tables ?? null,
    migrations: migrations
      .filter((file) => file.endsWith('.sql') && !file.includes('.down.'))
      .sort()
      .map((file) => ({ file, reversible: migrations.includes(file.replace(/\.sql$/, '.down.sql')) })),
    settings: Object.keys(settingsSchema?.properties ?? {}),
    events: manifest.events ?? [],
    provides: manifest.provides ?? {},
    requires: manifest.requires ?? {},
    optional: manifest.optional ?? {},
    peers: peersOf(candidate.json),
    origin: candidate.from,
    files: candidate.files,
    bytes: candidate.bytes,
    integrity: candidate.integrity,
  }
}

/** The plan for people. */
export function planText(plan: Plan): string {
  const contracts = (contracts: Readonly<Record<string, string>>) =>
    Object.entries(contracts).map(([contract, version]) => `${contract} ${version}`)
  const rows: [string, readonly string[]][] = [
    ['routes', plan.routes],
    ['tables', plan.tables === null ? [] : [`${plan.tables}, ${plan.tables}_*`]],
    [
      'migrations',
      plan.migrations.map(({ file, reversible }) => (reversible ? file : `${file} (cannot be undone)`)),
    ],
    ['settings', plan.settings],
    ['events', plan.events],
    ['provides', contracts(plan.provides)],
    ['requires', contracts(plan.requires)],
    ['uses', contracts(plan.optional)],
    ['peers', plan.peers.map(({ name, range, lent }) => `${name} ${range} (lent: ${lent ?? 'no'})`)],
    ['origin', [plan.origin]],
    ['size', [`${plan.files} files, ${sizeOf(plan.bytes)}`]],
    ['integrity', [plan.integrity]],
  ]
  const title = `${plan.id} ${plan.version}${plan.replaces === null ? '' : ` (instead of ${plan.replaces})`}`
  const lines = rows.flatMap(([label, values]) =>
    values.map((value, index) => `  ${(index === 0 ? label : '').padEnd(11)} ${value}`),
  )
  return [title, ...lines].join('\n')
}

function sizeOf(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
