import { callRunningHost } from '@mortise/host'
import { whileLocked } from '../changes/command-lock.ts'
import { assertInForce } from '../changes/in-force.ts'
import type { Command } from '../terminal/command.ts'
import { Failure } from '../terminal/failure.ts'

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
      throw new Failure('notFound', 'not-running', 'No host runs this application.', 'Start it: app start')
    }
    const { workers, reason } = answer.body as { workers?: number; reason?: string }
    if (answer.status !== 200 || workers === undefined) {
      throw new Failure(
        answer.status === 409 ? 'refused' : 'unexpected',
        'not-restarted',
        `The host was not restarted: ${reason ?? `it answered ${answer.status}`}.`,
        'It serves as before. Mend what it says; one without --workers is stopped and started again.',
      )
    }
    terminal.result({ workers }, `Replaced ${workers} processes.`)
  },
}
