import { resolve } from 'node:path'
import { bundleApplication } from '../install/bundle.ts'
import { changeApplication } from '../install/pipeline.ts'
import type { Command } from '../terminal/command.ts'

export const bundle: Command = {
  name: 'bundle',
  summary: 'write everything that is installed into one file, to be installed elsewhere',
  arguments: '<file>',
  examples: [
    'app bundle ../shop-1.tgz',
    'app bundle ../shop-1.tgz --json     # with its SHA-512, to be compared where it arrives',
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
        unchanged ? `Nothing to do: ${file} holds exactly this.` : `Wrote ${file} (${bytes} bytes)`,
        `Generation ${generation}: ${[...(host ? [{ id: 'host', version: host }] : []), ...modules].map(({ id, version }) => `${id} ${version}`).join(', ')}`,
        `  ${integrity}`,
        `Elsewhere: app module-install ${name} --offline`,
      ].join('\n'),
    )
  },
}
