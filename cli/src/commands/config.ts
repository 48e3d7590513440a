import { text } from 'node:stream/consumers'
import { readConfigText } from '@mortise/application/folder'
import type { Switched } from '@mortise/installer'
import type { Setting, SettingsOwner } from '@mortise/installer/settings'
import {
  allSettings,
  findWritten,
  hostVariables,
  noteOverridden,
  pendingSettings,
  type SettingState,
  settingState,
} from '@mortise/installer/settings'
import { isServed } from '@mortise/installer/store'
import { wrongConfigCall } from '../failures/usage.ts'
import type { Command } from '../terminal/command.ts'
import type { Terminal } from '../terminal/terminal.ts'

export const command: Command = {
  examples: [
    'app config get                        # every setting, its value and its origin',
    'app config get note.keepFor',
    'app config set note.keepFor 7d',
    'app config set server.port 8080       # a setting of the host: needs a restart',
    'app config set review.keepFor 7d      # of a module that you install next',
    'app config set web-console.oidc - < oidc.json    # a value from standard input; a group as JSON',
    'app config unset note.keepFor         # back to the default',
  ],
  changes: true,

  ownEnvironment: true,
  repairsEnvironment: true,

  async run({ arguments: [action, key, value], terminal, application }) {
    if (action === 'get' && value === undefined) return await get(await application(), key, terminal)
    if (action === 'set' && key !== undefined && value !== undefined) {
      const given = value === '-' ? await readValue(terminal) : value
      return await change(await application(), `config set ${key}`, key, given, terminal)
    }
    if (action === 'unset' && key !== undefined && value === undefined) {
      return await change(await application(), `config unset ${key}`, key, undefined, terminal)
    }
    throw wrongConfigCall()
  },
}

/** All of standard input, without the end of its last line. */
const readValue = async ({ streams: { stdin } }: Terminal): Promise<string> =>
  (await text(stdin)).replace(/\r?\n$/, '')

async function get(directory: string, key: string | undefined, terminal: Terminal): Promise<void> {
  const file = await readConfigText(directory)
  const { settings, single } =
    key === undefined
      ? { settings: await allSettings(directory, file), single: false }
      : await findWritten(directory, key, file)
  const pending = await pendingSettings(directory)
  const states = settings.map((setting) => settingState(setting, file, pending))
  const [first] = states
  if (single && first) {
    if (first.effective !== undefined) terminal.note(`${waiting(first)}.`)
    await noteOverridden(directory, first.variable, terminal)
    terminal.result(first, typeof first.value === 'string' ? first.value : JSON.stringify(first.value))
  } else terminal.result({ settings: states }, states.map(line).join('\n') || `${key} has no settings.`)
}

const waiting = ({ effective, option }: SettingState) =>
  `The running host uses ${effective === null ? 'no value' : JSON.stringify(effective)} ${option ? `by ${option}` : 'until it is restarted'}`

function line(state: SettingState): string {
  const { key, value, source, default: standard, effective } = state
  const from =
    source === 'default' || source === 'none'
      ? source
      : `${source}; default ${standard === null ? 'none' : JSON.stringify(standard)}`
  const waits = effective === undefined ? '' : `. ${waiting(state)}`
  return `${key} = ${source === 'none' ? '' : JSON.stringify(value)} (${from})${waits}`
}

async function change(
  directory: string,
  command: string,
  key: string,
  value: string | undefined,
  terminal: Terminal,
): Promise<void> {
  const { changeApplication } = await import('@mortise/installer')
  const { changeSetting } = await import('@mortise/installer')
  const { owner, setting, changed, switched } = await changeApplication(directory, command, terminal, () =>
    changeSetting({ directory, command, key, value, terminal }),
  )
  const state = settingState(setting, await readConfigText(directory), await pendingSettings(directory))
  const overridden = (await hostVariables(directory)).includes(state.variable)
  const is = `${setting.key} is ${state.source === 'none' ? 'not set' : JSON.stringify(state.value)}`
  if (state.source === 'environment') {
    terminal.note(`${state.variable} is set and overrides app.config.json.`)
  }
  // The host does not report whether it has read one of its own settings.
  const isLive = !changed && owner.module !== undefined
  const live = !overridden && (switched?.live ?? (isLive && (await isServed(directory))))
  terminal.result(
    { ...state, changed, generation: switched?.generation ?? null, live },
    !changed
      ? `Nothing to do: ${is}${value === undefined ? ' by default' : ' already'}.`
      : live
        ? `${is}. The running host uses it.`
        : overridden
          ? `${is}. The running host uses ${state.variable} instead: change it there, and restart the host.`
          : state.effective !== undefined
            ? `${is}. ${waiting(state)}.`
            : `${is}. ${whenUsed(owner, setting, switched)}`,
  )
}

function whenUsed({ module }: SettingsOwner, { path }: Setting, switched: Switched | undefined): string {
  if (module !== undefined && switched) return 'Next: app start'
  if (path[0] === 'backup') return 'A running host uses it within a minute.'
  if (module !== undefined || path[0] !== 'modules') return 'The host reads it at its next start.'
  return `${path[1]} is not installed: its installation checks its settings.`
}
