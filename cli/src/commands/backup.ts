import { resolve } from 'node:path'
import { backUp } from '../data/back-up.ts'
import type { Command } from '../terminal/command.ts'

export const backup: Command = {
  name: 'backup',
  summary: 'write a consistent copy of data and lock into one file, while the application runs or not',
  arguments: '<file>',
  options: [['--with-secret', 'also the secret: who has the file can then sign tokens']],
  examples: ['app backup ../shop.tgz', 'app backup "/backups/shop-$(date +%F).tgz" --with-secret'],

  async run({ arguments: [name = ''], options, terminal, application }) {
    const directory = await application()
    const file = resolve(name)
    const withSecret = options.withSecret === true
    const done = await terminal.during('Copying the data', () => backUp({ directory, file, withSecret }))
    const secret = withSecret
      ? 'The secret is in it: keep the file as safe as a password.'
      : 'The secret (.app/secret) is not in it: keep it elsewhere, or add --with-secret.'
    terminal.result(
      done,
      [
        `Backed up generation ${done.generation} to ${file} (${done.bytes} bytes). ${secret}`,
        `Bring it back, with the application stopped: app restore ${name}`,
      ].join('\n'),
    )
  },
}
