import { isDeepStrictEqual } from 'node:util'
import { configFile, readConfig, readLockFile } from '@mortise/host'
import { type ConfigText, parseConfig, readConfigText, valueAt } from '../application/config-text.ts'
import { setInJson, unsetInJson } from '../application/edit-json.ts'
import { type BegunRecord, beginRecord } from '../changes/audit-record.ts'
import { type Failure, settingGroup, settingRefused } from '../failures/index.ts'
import { applyChange, applyConfig, type Switched } from '../install/apply/apply-change.ts'
import { probeCandidates } from '../install/probe/probe-candidates.ts'
import { readInstalled } from '../store/installed-packages.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { findSettable, findWritten } from './find-settings.ts'
import { parseValue } from './parse-value.ts'
import { type Setting, type SettingsOwner, shown } from './setting.ts'
import { moduleProblems, settingProblems } from './setting-problems.ts'

export interface SettingRequest {
  readonly directory: string
  /** The command line without the value, which may be secret, for the history. */
  readonly command: string
  readonly key: string
  /** The value as text; undefined removes the setting. */
  readonly value: string | undefined
  readonly terminal: Terminal
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
 * and put in force as a new generation by the running host. On failure the previous value returns.
 * While the file has other invalid settings, the change waits for them. A host setting takes effect
 * at the next start, and one of a module that is not installed when it is. Call this with the command lock.
 *
 * @throws {Failure} unknown or invalid (2, 3), rejected by the module (4), reverted (5)
 */
export async function changeSetting(request: SettingRequest): Promise<ChangedSetting> {
  const { directory, value, terminal } = request
  const previous = await readConfigText(directory)
  const { owner, setting } = await findOne(directory, request, previous)
  const edited =
    value === undefined ? unsetInJson(previous.text, setting.path) : set(previous, setting, value, owner)
  const next = { text: edited, json: parseConfig(edited, configFile(directory)) }
  if (isDeepStrictEqual(next.json, previous.json))
    return { owner, setting, changed: false, switched: undefined }

  const { caused, others } = settingProblems(owner, setting, previous.json, next.json)
  if (caused.length > 0) throw wrongSetting(caused, value)
  const left = [...others, ...(await problemsOfOthers(directory, owner, next))]
  for (const clause of left) terminal.note(`Still invalid in app.config.json: ${clause}`)
  if (owner.module === undefined || left.length > 0) {
    const config = { former: previous.text, next: next.text }
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
      config: { former: previous.text, next: next.text },
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

async function findOne(
  directory: string,
  { key, value }: SettingRequest,
  file: ConfigText,
): Promise<{ owner: SettingsOwner; setting: Setting }> {
  const { owner, settings, single } = await (value === undefined
    ? findWritten(directory, key, file)
    : findSettable(directory, key))
  const [setting] = settings
  if (single && setting) return { owner, setting }
  if (settings.length === 0) throw settingGroup({ hint: 'empty', key })
  throw settingGroup({ hint: 'settings', key, settings: settings.map((one) => one.key).join(', ') })
}

/** The text of the file with the setting, in the first meaning of the value that is valid. */
function set(file: ConfigText, setting: Setting, value: string, owner: SettingsOwner): string {
  const texts = parseValue(value, setting.schema).map((meaning) =>
    setInJson(file.text, setting.path, meaning),
  )
  const isRight = (text: string) =>
    settingProblems(owner, setting, file.json, JSON.parse(text)).caused.length === 0
  return texts.find(isRight) ?? (texts[0] as string)
}

/** While the settings of another module are invalid, no host can use the file. */
async function problemsOfOthers(
  directory: string,
  owner: SettingsOwner,
  { json }: ConfigText,
): Promise<string[]> {
  if (owner.module === undefined) return []
  const { modules } = await readLockFile(directory)
  const others = Object.entries(modules).filter(([id, locked]) => locked.enabled && id !== owner.module)
  const problems = others.map(async ([id, locked]) => {
    const { settingsSchema } = await readInstalled(id, locked, directory)
    return moduleProblems(id, settingsSchema, json)
  })
  return (await Promise.all(problems)).flat()
}

/** Probes all enabled modules with the new settings. */
async function tryOut(directory: string, id: string, { json }: ConfigText): Promise<void> {
  const { modules } = await readLockFile(directory)
  const enabled = Object.entries(modules).filter(([, locked]) => locked.enabled)
  if (!enabled.some(([other]) => other === id)) return
  const packages = await Promise.all(
    enabled.map(([other, locked]) => readInstalled(other, locked, directory)),
  )
  const config = { ...(await readConfig(directory)), modules: (json.modules ?? {}) as never }
  const own = packages.filter(({ manifest }) => manifest.id === id)
  await probeCandidates(
    config,
    packages.filter(({ manifest }) => manifest.id !== id),
    own,
  )
}

function wrongSetting(clauses: readonly string[], value: string | undefined): Failure {
  const problems = clauses.join('; ')
  return settingRefused({ problems, hint: value === undefined ? 'unset' : 'set' })
}
