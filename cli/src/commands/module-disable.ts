import { changeModules } from '../install/pipeline.ts'
import { isServed } from '../store/installed-state.ts'
import type { Command } from '../terminal/command.ts'

export const moduleDisable: Command = {
  name: 'module-disable',
  summary: 'switch modules off; their code and data stay',
  arguments: '<name...>',
  examples: ['app module-disable api-purchase'],
  changes: true,

  async run({ arguments: names, terminal, application }) {
    const directory = await application()
    const command = ['module-disable', ...names].join(' ')
    const { switched, generation, changed, unchanged } = await changeModules({
      ...{ kind: 'disable', names, directory, command, terminal },
    })
    const rest = { generation, changed, unchanged }
    terminal.result(
      { ...rest, live: switched?.live ?? (await isServed(directory)) },
      [
        ...rest.unchanged.map((id) => `Nothing to do: ${id} is disabled already.`),
        ...rest.changed.map((id) => `Disabled ${id}.`),
      ].join('\n'),
    )
  },
}
