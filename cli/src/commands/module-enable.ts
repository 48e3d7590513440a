import type { Command } from '../command.ts'
import { changeApplication } from '../install/change-application.ts'
import { enableModules } from '../install/enable-modules.ts'
import { isServed } from '../installed-state.ts'

export const moduleEnable: Command = {
  name: 'module-enable',
  summary: 'switch installed modules on again',
  arguments: '<name...>',
  examples: ['app module-enable api-purchase'],
  changes: true,

  async run({ arguments: names, terminal, application }) {
    const directory = await application()
    const command = ['module-enable', ...names].join(' ')
    const { switched, ...rest } = await changeApplication(directory, command, terminal, () =>
      enableModules(directory, command, names),
    )
    terminal.result(
      { ...rest, live: switched?.live ?? (await isServed(directory)) },
      [
        ...rest.unchanged.map((id) => `Nothing to do: ${id} is enabled already.`),
        ...rest.changed.map((id) => `Enabled ${id}.`),
      ].join('\n'),
    )
  },
}
