import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Application } from '@mortise/host/serving'
import { changeApplication } from '@mortise/installer'
import { completeApplication } from '@mortise/installer/application'
import { Failure, noPackageInFolder, notForDevelopment, portInUse } from '@mortise/installer/failures'
import { assertOwner } from '@mortise/installer/locating'
import { readPackageJson } from '@mortise/installer/store'
import { skipSyncs } from '@mortise/storage'
import type { Command } from '../terminal/command.ts'
import { StopSignals } from '../terminal/stop-signals.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { Author } from './dev/author.ts'
import { AuthorLog } from './dev/author-log.ts'
import { assertTypeScript, isTypeScript } from './dev/compiler.ts'
import { portOf, startOn, unlessStopped } from './start.ts'
import { mintRecorded } from './token.ts'

export const command: Command = {
  options: [
    ['--port <port>', 'the port to listen on (default: 3000, or any free port if that is taken)'],
    ['--yes', 'create the tables of a changed migration again without asking; their rows are lost'],
  ],
  directory: 'the application folder that it makes and runs (default: .app-dev in the module)',
  examples: ['app dev', 'app dev ../my-module --port 8080'],
  ownEnvironment: true,

  async run({ arguments: [path = '.'], options, terminal }) {
    if (!existsSync(resolve(path, 'package.json')))
      throw noPackageInFolder({ text: path, path: resolve(path) })
    const module = await realpath(path)
    assertOwner(module)
    if (isTypeScript(module)) assertTypeScript(module)
    const { name } = await readPackageJson(module)
    const directory = resolve((options.dir as string | undefined) ?? join(module, '.app-dev'))
    await assertForDevelopment(directory)
    const port = portOf(options.port)
    // An error in compiled code names the line of its source.
    process.setSourceMapsEnabled(true)
    skipSyncs()
    await makeApplication(directory)
    await changeApplication(directory, 'dev', terminal, async () => {})
    const signals = new StopSignals()
    const log = new AuthorLog(terminal, placesOf(directory, module, name))
    const running = await unlessStopped(signals, (signal) =>
      startAnywhere({ directory, port, signal, development: log }, terminal),
    )
    if (running === undefined) return
    const author = new Author({ module, directory, running, log, terminal, yes: options.yes === true })
    signals.stop.addEventListener('abort', () => author.stop())
    if (signals.stop.aborted) author.stop()
    signals.cut.addEventListener('abort', () => running.cut().catch(() => {}))
    try {
      await author.begin()
      const token = await mintRecorded(directory, 'ann', undefined, '30d')
      terminal.result(
        { pid: process.pid, url: running.url, docs: `${running.url}/docs`, token, directory },
        [
          `Serving ${running.url}`,
          `Docs    ${running.url}/docs`,
          `Token   ${token}`,
          `Try: curl ${running.url}/ -H "authorization: Bearer <token>"`,
          'Each save switches to the new code. Ctrl-C ends it.',
        ].join('\n'),
      )
      await author.ended
    } finally {
      await author.end()
    }
  },
}

/** Git and npm see nothing of the application. */
const IGNORE_ALL = '*\n'
const ignoreFile = (directory: string) => join(directory, '.gitignore')

/** @throws {Failure} if an operator made the application: its data have to survive a power failure */
async function assertForDevelopment(directory: string): Promise<void> {
  if (!existsSync(join(directory, 'app.config.json'))) return
  const ignored = await readFile(ignoreFile(directory), 'utf8').catch(() => '')
  if (ignored !== IGNORE_ALL) throw notForDevelopment({ directory })
}

async function makeApplication(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  if (!existsSync(ignoreFile(directory))) await writeFile(ignoreFile(directory), IGNORE_ALL)
  await completeApplication(directory)
}

/** On a free port if nobody chose one, and the usual one is taken. */
async function startAnywhere(
  options: Parameters<typeof startOn>[0],
  terminal: Terminal,
): Promise<Application> {
  const environment = { APP_LOG_REQUESTS: 'true', ...process.env }
  const start = (port: number | undefined) => startOn({ ...options, port, environment })
  try {
    return await start(options.port)
  } catch (error) {
    const isTaken = error instanceof Failure && error.code === portInUse.code
    if (options.port !== undefined || !isTaken) throw error
    terminal.note(`${error.message} Taking another one.`)
    return await start(0)
  }
}

const copied = /(?:file:\/\/)?([^\s()]*)\/\.app\/store\/([^/\s]+)\/(?!node_modules\/)/g

/** Replaces the path of a copy of the module by the module's own. */
const placesOf = (directory: string, module: string, name: string) => (text: string) =>
  text.replace(copied, (path, root: string, copy: string) => {
    const isOwn = copy.startsWith('.staging-') || copy.startsWith(`${name.replace('/', '+')}@`)
    return root === directory && isOwn ? `${module}/` : path
  })
