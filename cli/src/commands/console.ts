import { readConfig } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import { noConsole, notRunning } from '@mortise/installer/failures'
import type { Command } from '../terminal/command.ts'
import { endSessions } from './console/end-sessions.ts'
import { openLink } from './console/open-link.ts'
import { urlOnThisMachine } from './console/url-on-this-machine.ts'
import { mintRecorded, scopesOf } from './token.ts'

/** The module takes a scope of a link for that of a session, once. The host takes it for no bearer token. */
const OF_LINK = 'sign-in:'

export const command: Command = {
  options: [
    ['--scope <scopes>', 'what the session may do: admin, or "operator:read purchase:read" (default: admin)'],
    ['--no-open', 'only print the link'],
    ['--end-all', 'end all sessions of the console instead'],
  ],
  examples: [
    'app console',
    'app console ann --scope "operator:read purchase:read"',
    'app console --end-all    # everybody signs in again',
  ],

  async run({ arguments: [subject = 'operator'], options, terminal, application }) {
    const directory = await application()
    const state = await callRunningHost(directory, 'state')
    if (state === undefined) throw notRunning()
    if (!state.modules.some(({ id, state }) => id === 'web-console' && state === 'active')) throw noConsole()
    const mint = (scopes: readonly string[]) =>
      mintRecorded(
        directory,
        subject,
        scopes.map((scope) => OF_LINK + scope),
        '60s',
      )
    const here = urlOnThisMachine(state.url)
    if (options.endAll === true) {
      await endSessions(here, await mint(['admin']))
      return terminal.result({ ended: true }, 'All sessions of the console have ended.')
    }
    const scopes = scopesOf(options) ?? ['admin']
    const token = await mint(scopes)
    const { publicUrl, basePath } = await readConfig(directory)
    const link = `${publicUrl === undefined ? here : publicUrl + basePath}/console#link=${token}`
    terminal.result({ link, subject, scope: scopes.join(' ') }, `${link}\nValid once, for a minute.`)
    if (publicUrl === undefined)
      terminal.note(
        'The link is for a browser on this machine, because publicUrl is not set. Behind a proxy: app config set publicUrl https://shop.example',
      )
    if (terminal.interactive && options.open !== false) await openLink(link)
  },
}
