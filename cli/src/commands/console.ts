import { spawn } from 'node:child_process'
import { callRunningHost, readConfig } from '@mortise/host'
import { noConsole, notRunning } from '../failures/index.ts'
import type { Command } from '../terminal/command.ts'
import { mintRecorded } from './token.ts'

/** The module takes a scope of a link for that of a session, once; no route takes it for a right. */
const OF_LINK = 'sign-in:'

export const command: Command = {
  options: [
    ['--scope <scopes>', 'what the session may do: admin, or "operator:read purchase:read" (default: admin)'],
    ['--no-open', 'only print the link'],
  ],
  examples: ['app console', 'app console ann --scope "operator:read purchase:read"'],

  async run({ arguments: [subject = 'operator'], options, terminal, application }) {
    const directory = await application()
    const state = await callRunningHost(directory, 'state')
    if (state === undefined) throw notRunning()
    if (!state.modules.some(({ id, state }) => id === 'web-console' && state === 'active')) throw noConsole()
    const scopes = ((options.scope as string | undefined) ?? 'admin').split(' ')
    const token = await mintRecorded(
      directory,
      subject,
      scopes.map((scope) => OF_LINK + scope).join(' '),
      '60s',
    )
    const { publicUrl, basePath } = await readConfig(directory)
    const base =
      publicUrl === undefined
        ? state.url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1')
        : publicUrl + basePath
    const link = `${base}/console#link=${token}`
    terminal.result({ link, subject, scope: scopes.join(' ') }, `${link}\nValid once, for a minute.`)
    if (terminal.interactive && options.open !== false) open(link)
  },
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** A machine without a browser has none to open. */
function open(link: string): void {
  const [program, ...words] = openers[process.platform] ?? ['xdg-open']
  const browser = spawn(program, [...words, link], { stdio: 'ignore', detached: true })
  browser.on('error', () => {})
  browser.unref()
}
