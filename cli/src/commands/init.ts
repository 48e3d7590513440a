import { dirname, join, resolve } from 'node:path'
import { completeApplication, newSecretNote } from '@mortise/installer/application'
import { namedTwice } from '@mortise/installer/failures'
import { assertOwner, findApplication } from '@mortise/installer/locating'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  directory: 'the folder of the new application, same as [dir] (default: the current folder)',
  examples: ['app init my-api', 'app init .          # adds missing files; overwrites nothing'],

  async run({ arguments: [dir], options, terminal }) {
    if (dir !== undefined && options.dir !== undefined) {
      throw namedTwice({ what: 'folder', first: dir, second: `--dir ${options.dir}` })
    }
    const directory = resolve(dir ?? (options.dir as string | undefined) ?? '.')
    assertOwner(directory)
    const made = await completeApplication(directory)
    const isNew = made.includes('app.config.json')
    const paths = made.map((path) => join(directory, path))
    const note = isNew ? undefined : newSecretNote(directory, paths)
    const inside = applicationAround(directory)
    terminal.result(
      { directory, made, inside },
      made.length === 0
        ? `Nothing to do: ${directory} is a complete application.`
        : [
            `Created in ${directory}: ${made.join(', ')}`,
            ...(note === undefined ? [] : [note]),
            ...(inside === null
              ? []
              : [`It is inside another application, ${inside}. Commands in ${directory} use the new one.`]),
            'Next: app module-install api-cart, then app start (in that folder).',
          ].join('\n'),
    )
  },
}

function applicationAround(directory: string): string | null {
  try {
    return findApplication(undefined, dirname(directory))
  } catch {
    return null
  }
}
