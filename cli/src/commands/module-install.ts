import type { Command } from '../terminal/command.ts'
import { installationOptions, runInstallation } from './run-installation.ts'

export const moduleInstall: Command = {
  name: 'module-install',
  summary: 'install modules as one change; without a name: bring the store in line with the lock',
  arguments: '[spec...]',
  options: [...installationOptions, ['--frozen', 'exactly what modules.lock.json names, or nothing']],
  examples: [
    'app module-install api-cart api-purchase',
    'app module-install ./my-module ../packed-1.0.0.tgz',
    'app module-install @acme/api-review@^2 npm:unscoped-module@1.4.0',
    'app module-install                        # a fresh machine: what modules.lock.json names',
    'app module-install ../shop-1.tgz --offline # what "app bundle" has written',
  ],
  changes: true,
  mendsHost: true,

  async run(call) {
    const { arguments: specs, options } = call
    await runInstallation(call, 'module-install', { kind: 'install', specs, frozen: options.frozen === true })
  },
}
