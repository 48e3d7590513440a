import type { Command } from '../terminal/command.ts'
import { installationOptions, runInstallation } from './run-installation.ts'

export const command: Command = {
  options: [...installationOptions, ['--frozen', 'install exactly what modules.lock.json names, or nothing']],
  examples: [
    'app module-install api-cart api-purchase',
    'app module-install ./my-module ../packed-1.0.0.tgz',
    'app module-install @acme/api-review@^2 npm:unscoped-module@1.4.0',
    'app module-install                        # on a new machine: installs modules.lock.json',
    'app module-install ../shop-1.tgz --offline # a file from "app bundle"',
  ],
  changes: true,
  repairsHost: true,

  async run(call) {
    const { arguments: specs, options } = call
    await runInstallation(call, 'module-install', { kind: 'install', specs, frozen: options.frozen === true })
  },
}
