import type { Command } from '../command.ts'
import { describeModule } from '../install/describe-module.ts'
import { planText } from '../install/plan.ts'

export const moduleInfo: Command = {
  name: 'module-info',
  summary: 'show a module: manifest, routes, tables, contracts, size, origin and hashes, installed or not',
  arguments: '<spec>',
  examples: [
    'app module-info api-cart',
    'app module-info ./my-module',
    'app module-info @acme/api-review@^2',
  ],

  async run({ arguments: [spec], terminal, application }) {
    const description = await describeModule(await application(), spec as string, terminal)
    const { installed, tree } = description
    terminal.result(
      description,
      [
        planText(description),
        `  ${'tree'.padEnd(11)} ${tree}`,
        installed ? 'Installed.' : 'Not installed.',
      ].join('\n'),
    )
  },
}
