import { resolve } from 'node:path'
import { bundleApplication, changeApplication } from '@mortise/installer'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  examples: [
    'app bundle ../shop-1.tgz',
    'app bundle ../shop-1.tgz --json     # with its SHA-512, to compare at the destination',
  ],
  changes: true,

  async run({ arguments: [name], terminal, application }) {
    const directory = await application()
    const file = resolve(name as string)
    const bundled = await changeApplication(directory, `bundle ${name}`, terminal, () =>
      terminal.during(`Writing ${file}`, () => bundleApplication(directory, file)),
    )
    const { unchanged, host, modules, generation, bytes, integrity } = bundled
    terminal.result(
      bundled,
      [
        unchanged ? `Nothing to do: ${file} is up to date.` : `Wrote ${file} (${bytes} bytes)`,
        `Generation ${generation}: ${[...(host ? [{ id: 'host', version: host }] : []), ...modules].map(({ id, version }) => `${id} ${version}`).join(', ')}`,
        `  ${integrity}`,
        `To install it elsewhere: app module-install ${name} --offline`,
      ].join('\n'),
    )
  },
}
