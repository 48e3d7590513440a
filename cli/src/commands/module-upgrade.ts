import type { Command } from '../terminal/command.ts'
import { installationOptions, runInstallation } from './run-installation.ts'

export const command: Command = {
  options: installationOptions,
  examples: [
    'app module-upgrade',
    'app module-upgrade api-cart api-review@2.1.0',
    'app module-upgrade --dry-run',
  ],
  changes: true,

  async run(call) {
    await runInstallation(call, 'module-upgrade', { kind: 'upgrade', names: call.arguments })
  },
}
