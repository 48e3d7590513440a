import { changeApplication } from '@mortise/installer'
import { type Moved, moveData } from '@mortise/installer/data'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--to <url>', 'the PostgreSQL database: postgres://user@host/database?schema=shop'],
    ['--yes', 'do not ask'],
  ],
  examples: [
    'app migrate-data --to "postgres://shop@db.example/shop?schema=shop&sslmode=verify-full"    # password in PGPASSWORD',
  ],
  changes: true,

  ownEnvironment: true,

  async run({ options, terminal, application }) {
    const directory = await application()
    const moved = await changeApplication(directory, 'migrate-data', terminal, () =>
      moveData({ directory, to: options.to as string | undefined, terminal, yes: options.yes === true }),
    )
    terminal.result(moved, describe(moved))
  },
}

function describe({ to, tables, heldFor, running, moved, previous }: Moved): string {
  if (!moved) return `Nothing to do: the application already uses ${to}.`
  const seconds = (heldFor / 1000).toFixed(1)
  return [
    ...tables.flatMap(({ table, rows }) => (rows === null ? [] : [`${table}: ${rows} rows`])),
    `The data are in ${to}, and app.config.json names it. Each row was compared. Writes were refused for ${seconds} s.`,
    running === null
      ? 'Next: app start'
      : `Process ${running} serves reads from the previous database and refuses writes: restart it now (systemctl restart …, or stop it and "app start").`,
    `${previous} was not changed: delete it when you do not need it.`,
  ].join('\n')
}
