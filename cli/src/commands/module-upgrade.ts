import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { changeApplication } from '../install/change-application.ts'
import { upgradeModules } from '../install/upgrade-modules.ts'
import { describeInstalled } from './module-install.ts'

export const moduleUpgrade: Command = {
  name: 'module-upgrade',
  summary: 'install newer versions in the range that modules were installed with, or a named version',
  arguments: '[name...]',
  options: [
    ['--yes', 'do not ask about an origin that was not seen before'],
    ['--dry-run', 'print the plan and change nothing'],
  ],
  examples: [
    'app module-upgrade',
    'app module-upgrade api-cart api-review@2.1.0',
    'app module-upgrade --dry-run',
  ],

  async run({ arguments: names, options, terminal, application }) {
    const directory = await application()
    const command = ['module-upgrade', ...names].join(' ')
    const request = {
      directory,
      command,
      terminal,
      yes: options.yes === true,
      dryRun: options.dryRun === true,
    }
    const result = await changeApplication(directory, command, terminal, () => upgradeModules(request, names))
    if (!request.dryRun) await writeConfigSchema(directory)
    const { switched, ...rest } = result
    terminal.result(
      {
        ...rest,
        dryRun: request.dryRun,
        live: switched?.live ?? false,
        migrations: switched?.migrations ?? [],
      },
      describeInstalled(result, request.dryRun),
    )
  },
}
