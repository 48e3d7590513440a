import { readLockFile } from '@mortise/application'
import { callRunningHost, HostRefusedError } from '@mortise/host'
import { assertCurrent, currentGeneration, withCommandLock } from '@mortise/installer/changes'
import { notRunning, restartFailed, restartRefused } from '@mortise/installer/failures'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  examples: ['app restart'],
  changes: true,

  async run({ terminal, application }) {
    const directory = await application()
    assertCurrent(await readLockFile(directory), await currentGeneration(directory))
    const replaced = await withCommandLock(directory, 'restart', () =>
      terminal.during('Replacing the processes one by one', () => callRunningHost(directory, 'restart')),
    ).catch((error) => {
      throw error instanceof HostRefusedError ? notRestarted(error) : error
    })
    if (replaced === undefined) throw notRunning()
    terminal.result(replaced, `Replaced ${replaced.workers} processes.`)
  },
}

const notRestarted = ({ status, reason }: HostRefusedError) =>
  status === 409 ? restartRefused({ reason }) : restartFailed({ reason })
