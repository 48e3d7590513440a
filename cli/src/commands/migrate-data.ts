import { type Moved, moveData } from '../data/move-data.ts'
import { changeApplication } from '../install/pipeline.ts'
import type { Command } from '../terminal/command.ts'

export const migrateData: Command = {
  name: 'migrate-data',
  summary: 'move the data from SQLite to PostgreSQL, while the application runs or not',
  options: [
    ['--to <url>', 'the PostgreSQL: postgres://user@host/database?schema=shop'],
    ['--yes', 'do not ask'],
  ],
  examples: [
    'app migrate-data --to "postgres://shop@db.example/shop?schema=shop&sslmode=verify-full"    # PGPASSWORD has the password',
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

function describe({ to, tables, heldFor, running, moved, former }: Moved): string {
  if (!moved) return `Nothing to do: ${to} is what the application has.`
  const seconds = (heldFor / 1000).toFixed(1)
  return [
    ...tables.map(
      ({ table, rows, checksum }) => `${table}: ${rows} rows, ${checksum.slice(0, 16)} on both sides`,
    ),
    `The data are in ${to}, and app.config.json names it. Writes were held back for ${seconds} s.`,
    running === null
      ? 'Next: app start'
      : `Process ${running} answers reads from the former database and refuses writes: restart it now (systemctl restart …, or stop it and "app start").`,
    `${former} is as it was: delete it when you do not need it.`,
  ].join('\n')
}
