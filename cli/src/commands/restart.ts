import type { Command } from '../command.ts'
import { notRunning, restartFailed, restartRefused } from '../failures/index.ts'
import { callRunningHost } from '../host.ts'
import { whileLocked } from '../install/command-lock.ts'
import { assertInForce } from '../install/in-force.ts'

export const restart: Command = {
  name: 'restart',
  summary: 'replace the processes of "app start --workers" one by one; no request fails',
  examples: ['app restart'],
  changes: true,

  async run({ terminal, application }) {
    const directory = await application()
    await assertInForce(directory)
    const answer = await whileLocked(directory, 'restart', () =>
      terminal.during('Replacing its processes one by one', () =>
        callRunningHost(directory, { method: 'POST', path: '/restart' }),
      ),
    )
    if (answer === undefined) {
      throw notRunning()
    }
    const { workers, reason } = answer.body as { workers?: number; reason?: string }
    if (answer.status !== 200 || workers === undefined) {
      const because = { reason: reason ?? `it answered ${answer.status}` }
      throw answer.status === 409 ? restartRefused(because) : restartFailed(because)
    }
    terminal.result({ workers }, `Replaced ${workers} processes.`)
  },
}
