import { changeModules } from '../install/pipeline.ts'
import { secondsToSettle, settledText, settleOption, waitUntilSettled } from '../install/settle.ts'
import { isServed } from '../store/installed-state.ts'
import type { Command } from '../terminal/command.ts'

export const moduleEnable: Command = {
  name: 'module-enable',
  summary: 'switch installed modules on again',
  arguments: '<name...>',
  options: [settleOption],
  examples: ['app module-enable api-purchase', 'app module-enable api-purchase --settle 10'],
  changes: true,

  async run({ arguments: names, options, terminal, application }) {
    const seconds = secondsToSettle(options.settle)
    const directory = await application()
    const command = ['module-enable', ...names].join(' ')
    const { switched, generation, changed, unchanged } = await changeModules({
      ...{ kind: 'enable', names, directory, command, terminal },
    })
    const rest = { generation, changed, unchanged }
    const settled = await waitUntilSettled(directory, switched, seconds, terminal)
    terminal.result(
      {
        ...rest,
        live: switched?.live ?? (await isServed(directory)),
        ...(settled !== undefined && { settled }),
      },
      [
        ...rest.unchanged.map((id) => `Nothing to do: ${id} is enabled already.`),
        ...rest.changed.map((id) => `Enabled ${id}.`),
        ...settledText(settled),
      ].join('\n'),
    )
  },
}
