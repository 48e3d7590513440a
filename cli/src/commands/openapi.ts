import { callRunningHost, describeApplication } from '@mortise/host'
import { withUser } from '../changes/database-in-use.ts'
import type { Command } from '../terminal/command.ts'

export const openapi: Command = {
  name: 'openapi',
  summary: 'print the OpenAPI document of what is installed',
  examples: ['app openapi > openapi.json'],

  async run({ terminal, application }) {
    const directory = await application()
    const answer = await callRunningHost(directory, { method: 'GET', path: '/openapi' })
    const document = answer?.status === 200 ? answer.body : await describeAlone(directory)
    terminal.result(document, JSON.stringify(document, null, 2))
  },
}

async function describeAlone(directory: string): Promise<unknown> {
  try {
    return await describeApplication(directory)
  } catch (error) {
    throw await withUser(directory, error)
  }
}
