import { resolve } from 'node:path'
import { changeApplication, YES } from '@mortise/installer'
import { writeConfigSchema } from '@mortise/installer/application'
import { previousName, type Restored, restoreArchive } from '@mortise/installer/data'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--with-config', 'also restore app.config.json'],
    ['--with-secret', 'also restore the secret, if the backup has it'],
    ['--yes', `${YES}; without a terminal, an archive with a new source needs it`],
  ],
  examples: [
    'app restore ../shop.tgz',
    'app restore shop.tgz --with-config --with-secret    # on a new machine, after "app init"',
    'app restore .app/purged/api-cart-7.tgz    # an archive from "app module-remove --purge"',
  ],
  changes: true,

  async run({ arguments: [name = ''], options, terminal, application }) {
    const directory = await application()
    const command = `restore ${name}`
    const done = await changeApplication(directory, command, terminal, () =>
      restoreArchive({
        directory,
        file: resolve(name),
        command,
        withConfig: options.withConfig === true,
        withSecret: options.withSecret === true,
        terminal,
        yes: options.yes === true,
      }),
    )
    await writeConfigSchema(directory)
    terminal.result(done, describe(done))
  },
}

function describe(done: Restored): string {
  if (done.kind === 'module') {
    return done.tables.length === 0
      ? `Nothing to do: the data of ${done.module} already exist.`
      : `Restored ${done.tables.join(', ')}. Next: app module-install ${done.spec ?? done.module}`
  }
  const { previous } = done
  return [
    `Restored ${done.restored.join(', ')}, as generation ${done.generation}.`,
    ...(previous === null
      ? []
      : [`The replaced data are kept as ${previousName(previous)}: delete them when you do not need them.`]),
    done.missing.length > 0
      ? `Next: app module-install, which downloads ${done.missing.join(', ')}, then app start`
      : 'Next: app start',
  ].join('\n')
}
