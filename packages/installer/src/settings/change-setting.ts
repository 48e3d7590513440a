import { isDeepStrictEqual } from 'node:util'
import {
  assertHostSettings,
  type BegunRecord,
  ConfigError,
  checkSettings,
  configFile,
  type Environment,
  type ModulePackage,
  modulesToLoad,
  overrideFromEnvironment,
  readConfig,
  readLockFile,
  settingFaults,
  variableOf,
} from '@mortise/application'
import { type ConfigText, parseConfig, readConfigText, valueAt } from '@mortise/application/folder'
import { setInJson, unsetInJson } from '../application/edit-json.ts'
import { beginRecord } from '../changes/audit-record.ts'
import { type Failure, secretSetting, settingGroup, settingRefused } from '../failures/index.ts'
import { applyChange, applyConfig, type Switched } from '../install/apply/apply-change.ts'
import { probeCandidates } from '../install/probe/probe-candidates.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { readInstalled } from '../store/installed-packages.ts'
import { findSettable, findWritten } from './find-settings.ts'
import { noteOverridden } from './host-variables.ts'
import { hasSecret, type Setting, type SettingsOwner, settingsBelow, shown } from './setting.ts'
import { parseValue } from './setting-state.ts'

export interface SettingRequest {
  readonly directory: string
  /** The command line without the value, which may be secret, for the history. */
  readonly command: string
  readonly key: string
  /** The value as text; undefined removes the setting. */
  readonly value: string | undefined
  readonly terminal: Reporter
}

export interface ChangedSetting {
  readonly owner: SettingsOwner
  readonly setting: Setting
  readonly changed: boolean
  /** Undefined if the host did not switch: nothing to do, or a setting of the host. */
  readonly switched: Switched | undefined
}

/**
 * Changes one setting in app.config.json.
 *
 * A module's setting is a change like any other: it is checked against the module's schema, probed,
 * and applied as a new generation by the running host. On failure the previous value returns.
 * While the file has other invalid settings, the change waits for them. A host setting takes effect
 * at the next start, and one of a module that is not installed when it is. Call this with the command lock.
 *
 * @throws {Failure} unknown or invalid (2, 3), rejected by the module (4), reverted (5)
 */
export async function changeSetting(request: SettingRequest): Promise<ChangedSetting> {
  const { directory, value, terminal } = request
  const previous = await readConfigText(directory)
  const { owner, setting } = await findOne(directory, request, previous)
  await noteOverridden(directory, variableOf(setting.path), terminal)
  const edited =
    value === undefined
      ? unsetInJson(previous.text, setting.path)
      : await set(previous, setting, value, owner)
  const next = { text: edited, json: parseConfig(edited, configFile(directory)) }
  if (value !== undefined) assertNoSecret(owner, setting, next.json)
  if (isDeepStrictEqual(next.json, previous.json))
    return { owner, setting, changed: false, switched: undefined }

  const { caused, others } = await settingProblems(owner, setting, previous.json, next.json)
  if (caused.length > 0) throw wrongSetting(caused, value)
  const left = [...others, ...(await problemsOfOthers(directory, owner, next))]
  for (const clause of left) terminal.note(`Still invalid in app.config.json: ${clause}`)
  if (owner.module === undefined || left.length > 0) {
    const config = { previous: previous.text, next: next.text }
    await applyConfig(directory, config, recordOf(request, owner, setting, [previous.json, next.json]))
    return { owner, setting, changed: true, switched: undefined }
  }
  await terminal.during('Probing', () => tryOut(directory, owner.module as string, next))
  const lock = await readLockFile(directory)
  const switched = await terminal.during('Switching', () =>
    applyChange({
      directory,
      command: request.command,
      previous: lock,
      modules: lock.modules,
      config: { previous: previous.text, next: next.text },
      object: setting.key,
    }),
  )
  return { owner, setting, changed: true, switched }
}

/** The values of a host setting, except secrets. Values of module settings are not recorded. */
function recordOf(
  { command }: SettingRequest,
  { module, schema }: SettingsOwner,
  setting: Setting,
  texts: readonly [previous: unknown, next: unknown],
): BegunRecord {
  const [from = null, to = null] = texts.map((json) => shown(valueAt(json, setting.path), setting.schema))
  const isOfHost = module === undefined && schema !== undefined
  return beginRecord('config', setting.key, { command, ...(isOfHost && { from, to }) })
}

/** The file is committed with the application. @throws {Failure} `secret-setting` */
function assertNoSecret(owner: SettingsOwner, { path }: Setting, json: Json): void {
  const settings = settingsBelow(owner, path.slice(owner.path.length)) ?? []
  // Nobody knows the schema of a module that is not installed.
  const secret = owner.schema && settings.find((one) => hasSecret(valueAt(json, one.path), one.schema))
  if (secret !== undefined) throw secretSetting({ key: secret.key, variable: variableOf(secret.path) })
}

async function findOne(
  directory: string,
  { key, value }: SettingRequest,
  file: ConfigText,
): Promise<{ owner: SettingsOwner; setting: Setting }> {
  const { owner, settings, single, group } = await (value === undefined
    ? findWritten(directory, key, file)
    : findSettable(directory, key))
  const [setting] = settings
  if (single && setting) return { owner, setting }
  // Some settings are valid only together.
  if (group && (value === undefined || isObject(value))) return { owner, setting: group }
  if (settings.length === 0) throw settingGroup({ hint: 'empty', key })
  throw settingGroup({ hint: 'settings', key, settings: settings.map((one) => one.key).join(', ') })
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** The text of the file with the setting, in the first meaning of the value that is valid. */
async function set(file: ConfigText, setting: Setting, value: string, owner: SettingsOwner): Promise<string> {
  const texts = parseValue(value, setting.schema).map((meaning) =>
    setInJson(file.text, setting.path, meaning),
  )
  for (const text of texts) {
    const { caused } = await settingProblems(owner, setting, file.json, JSON.parse(text))
    if (caused.length === 0) return text
  }
  return texts[0] as string
}

/** While the settings of another module are invalid, no host can use the file. */
async function problemsOfOthers(
  directory: string,
  owner: SettingsOwner,
  { json }: ConfigText,
): Promise<string[]> {
  if (owner.module === undefined) return []
  const others = (await enabledPackages(directory)).filter(({ manifest }) => manifest.id !== owner.module)
  const problems: string[] = []
  for (const { manifest, settingsSchema } of others)
    problems.push(...(await moduleProblems(manifest.id, settingsSchema, json)))
  return problems
}

/** Probes all enabled modules with the new settings. */
async function tryOut(directory: string, id: string, { json }: ConfigText): Promise<void> {
  const enabled = await enabledPackages(directory)
  const own = enabled.filter(({ manifest }) => manifest.id === id)
  if (own.length === 0) return
  const config = { ...(await readConfig(directory)), modules: (json.modules ?? {}) as never }
  const others = enabled.filter(({ manifest }) => manifest.id !== id)
  await probeCandidates(config, others, own)
}

async function enabledPackages(directory: string): Promise<ModulePackage[]> {
  const toLoad = modulesToLoad(await readLockFile(directory))
  return await Promise.all(toLoad.map(([id, locked]) => readInstalled(id, locked, directory)))
}

function wrongSetting(clauses: readonly string[], value: string | undefined): Failure {
  const problems = clauses.join('; ')
  return settingRefused({ problems, hint: value === undefined ? 'unset' : 'set' })
}

type Json = Readonly<Record<string, unknown>>

/** The problems that `before` does not have, and all of the changed setting. */
async function settingProblems(
  owner: SettingsOwner,
  setting: Setting,
  before: Json,
  after: Json,
): Promise<{ readonly caused: readonly string[]; readonly others: readonly string[] }> {
  const known = await problemsOf(owner, setting, before)
  const own = setting.path.join('.')
  const wrong = await problemsOf(owner, setting, after)
  const isCaused = (clause: string) =>
    !known.includes(clause) || clause.startsWith(`"${own}"`) || clause.startsWith(`"${own}.`)
  return { caused: wrong.filter(isCaused), others: wrong.filter((clause) => !isCaused(clause)) }
}

/** The problems of a module's settings. */
const moduleProblems = (
  id: string,
  schema: SettingsOwner['schema'],
  json: Json,
  environment: Environment = process.env,
) => settingFaults({ modules: (json.modules ?? {}) as never, environment }, id, schema)

/** Checks the value of the setting in the file, even if a variable overrides it here. */
async function problemsOf(
  { module, schema }: SettingsOwner,
  { path }: Setting,
  json: Json,
): Promise<readonly string[]> {
  const { [variableOf(path)]: _, ...environment } = process.env
  if (module !== undefined) return moduleProblems(module, schema, json, environment)
  if (schema === undefined) return []
  const { $schema: __, modules: ___, ...settings } = structuredClone(json) as Record<string, unknown>
  return wrongIn(() => {
    overrideFromEnvironment(settings, schema, environment)
    checkSettings(settings, schema)
    assertHostSettings(settings as never)
  })
}

function wrongIn(check: () => void): readonly string[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.wrong
    throw error
  }
}
