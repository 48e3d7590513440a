import { resolve } from 'node:path'
import { setSchedule } from '@mortise/installer'
import { backUp, foreignLines, leftOut, verifyArchive } from '@mortise/installer/data'
import { wrongBackupCall } from '@mortise/installer/failures'
import type { Call, Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--with-secret', 'include the secret; a reader of the file can then sign tokens'],
    ['--every <time>', 'let the running host back up at intervals, a number and m, h, d or w'],
    ['--to <folder>', 'the folder of these backups, which must exist'],
    ['--keep <number>', 'how many of these backups are kept (default: 28)'],
  ],
  examples: [
    'app backup ../shop.tgz',
    'app backup "/backups/shop-$(date +%F).tgz" --with-secret',
    'app backup --every 6h --keep 28 --to /backups/shop    # stop it: app config unset backup.every',
    'app backup verify /backups/shop.tgz    # restores it to a scratch database',
  ],

  async run(call) {
    const { arguments: words, options } = call
    const [first, second] = words
    const isSchedule = [options.every, options.to, options.keep].some((option) => option !== undefined)
    if (isSchedule && first === undefined) return await schedule(call)
    if (isSchedule || first === undefined) throw wrongBackupCall()
    if (first === 'verify' && second !== undefined) return await verify(call, second)
    if (first === 'verify' || second !== undefined) throw wrongBackupCall()
    await now(call, first)
  },
}

async function now({ options, terminal, application }: Call, name: string): Promise<void> {
  const directory = await application()
  const file = resolve(name)
  const withSecret = options.withSecret === true
  const done = await terminal.during('Copying the data', () => backUp({ directory, file, withSecret }))
  const foreign = await leftOut(directory)
  if (foreign.length > 0) terminal.note(`Left out, since no module made it: ${foreign.join('; ')}`)
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
}

async function verify({ terminal, application }: Call, name: string): Promise<void> {
  const directory = await application()
  const done = await terminal.during('Restoring to a scratch database', () =>
    verifyArchive(directory, resolve(name)),
  )
  for (const line of foreignLines(done.foreign)) terminal.note(line)
  const rows = Object.values(done.rows).reduce((sum, count) => sum + count, 0)
  terminal.result(
    done,
    `${done.file} restores: generation ${done.generation}, ${done.at}, ${rows === 1 ? '1 row' : `${rows} rows`} in ${Object.keys(done.rows).length} tables.`,
  )
}

async function schedule({ options, terminal, application }: Call): Promise<void> {
  const { every, to, keep } = options as Readonly<Record<string, string | undefined>>
  if (every === undefined || to === undefined) throw wrongBackupCall()
  const directory = await application()
  const done = await setSchedule({ directory, every, to: resolve(to), keep, terminal })
  terminal.result(
    done,
    [
      `Backs up every ${done.every} to ${done.to}, and keeps ${done.keep}.`,
      `${done.running ? 'The running host begins within a minute.' : 'The host begins at its next start.'} To stop it: app config unset backup.every`,
    ].join('\n'),
  )
}
