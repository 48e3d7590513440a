import { readConfig } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import type { Command } from '../terminal/command.ts'
import { urlOnThisMachine } from './console/url-on-this-machine.ts'
import { mintRecorded, scopesOf } from './token.ts'

export const command: Command = {
  options: [
    ['--scope <scopes>', 'scopes of the token, separated by spaces: "purchase:read"'],
    ['--expires <time>', 'lifetime of the token, a number and s, m, h, d, w or y (default: 30d)'],
  ],
  examples: ['app mcp ann', 'app mcp support --scope purchase:read'],

  async run({ arguments: [subject], options, terminal, application }) {
    const directory = await application()
    const { name, publicUrl, basePath, server } = await readConfig(directory)
    const token = await mintRecorded(
      directory,
      subject as string,
      scopesOf(options),
      (options.expires as string | undefined) ?? '30d',
    )
    const running = await callRunningHost(directory, 'state')
    const here = running ? urlOnThisMachine(running.url) : `http://127.0.0.1:${server.port}${basePath}`
    const configuration = {
      mcpServers: {
        [name]: {
          type: 'http',
          url: `${publicUrl === undefined ? here : publicUrl + basePath}/mcp`,
          headers: { Authorization: `Bearer ${token}` },
        },
      },
    }
    terminal.result(configuration, JSON.stringify(configuration, null, 2))
  },
}
