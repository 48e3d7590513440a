import { resolve } from 'node:path'
import { completeApplication } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { Failure } from '../failure.ts'

export const init: Command = {
  name: 'init',
  summary: 'make an application folder: config, secret, data folder, .gitignore',
  arguments: '[dir]',
  examples: [
    'app init my-api',
    'app init .          # what is missing in this folder; nothing is overwritten',
  ],

  async run({ arguments: [dir], options, terminal }) {
    if (dir !== undefined && options.dir !== undefined) {
      throw new Failure(
        'usage',
        'usage',
        `The folder is named twice: ${dir} and --dir ${options.dir}.`,
        'Name it once.',
      )
    }
    const directory = resolve(dir ?? (options.dir as string | undefined) ?? '.')
    const made = await completeApplication(directory)
    terminal.result(
      { directory, made },
      made.length === 0
        ? `Nothing to do: ${directory} is a complete application.`
        : [
            `Made in ${directory}: ${made.join(', ')}`,
            'Next: app module-install api-cart, then app start (in that folder).',
          ].join('\n'),
    )
  },
}
