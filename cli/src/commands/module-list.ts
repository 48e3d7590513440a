import type { Command } from '../command.ts'
import { installedStates } from '../installed-state.ts'

export const moduleList: Command = {
  name: 'module-list',
  summary: 'list what is installed: name, version, state, routes',
  examples: ['app module-list', 'app module-list --json'],

  async run({ terminal, application }) {
    const states = await installedStates(await application())
    const lines = states.modules.flatMap(({ id, version, state, reason, routes }) => [
      `${id} ${version}  ${state}${reason === null ? '' : `: ${reason}`}`,
      ...routes.map((route) => `  ${route}`),
    ])
    const where = states.url === null ? 'no host is running' : `served at ${states.url}`
    terminal.result(
      states,
      lines.length === 0
        ? 'Nothing is installed. Next: app module-install api-cart'
        : [...lines, `Generation ${states.generation}, ${where}.`].join('\n'),
    )
  },
}
