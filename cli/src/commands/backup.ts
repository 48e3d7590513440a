import { resolve } from 'node:path'
import { backUp } from '../data/back-up.ts'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [['--with-secret', 'include the secret; a reader of the file can then sign tokens']],
  examples: ['app backup ../shop.tgz', 'app backup "/backups/shop-$(date +%F).tgz" --with-secret'],

  async run({ arguments: [name = ''], options, terminal, application }) {
    const directory = await application()
    const file = resolve(name)
    const withSecret = options.withSecret === true
    const done = await terminal.during('Copying the data', () => backUp({ directory, file, withSecret }))
    const secret = withSecret
      ? 'It contains the secret: protect the file like a password.'
      : 'It does not contain the secret (.app/secret): keep a copy of that elsewhere, or add --with-secret.'
    terminal.result(
      done,
      [
        `Backed up generation ${done.generation} to ${file} (${done.bytes} bytes). ${secret}`,
        `To restore it, stop the application first: app restore ${name}`,
      ].join('\n'),
    )
  },
}
