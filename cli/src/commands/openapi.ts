import { callUnlocked } from '@mortise/installer/changes'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  examples: ['app openapi > openapi.json'],

  async run({ terminal, application }) {
    const directory = await application()
    const document = await callUnlocked(directory, 'openapi')
    terminal.result(document, JSON.stringify(document, null, 2))
  },
}
