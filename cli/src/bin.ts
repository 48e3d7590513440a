import {
  endedEarly,
  exitCodes,
  type Failure,
  hostNotLoaded,
  hostOfAnotherUser,
} from '@mortise/installer/failures'
import { escaped } from '@mortise/installer/reporting'
import { keepServing, keepsServing } from './keep-serving.ts'
import { pinnedHost, runPinned } from './pinned/pinned-host.ts'
import { version } from './pinned/version.ts'
import { beforeExit } from './terminal/before-exit.ts'

// Files of the command, the host and their libraries (also npm's cache) are never writable for a
// group or everyone, whatever the umask. Private files set a stricter mode where they are created.
process.umask(process.umask(0o077) | 0o022)

// A reader may close the pipe before the end, as `head` does. A host continues to serve then.
let lost: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') lost = error
})
// A host also continues when its log is on a full disk.
process.stderr.on('error', () => {})

const argv = process.argv.slice(2)
// If a promise can never settle, Node would exit with 13.
process.exitCode = exitCodes.unexpected
if (keepsServing(argv)) process.exit(await keepServing(argv))
const pinned = pinnedHost(argv)
if (pinned === undefined) await run()
else if (pinned.stranger !== undefined)
  await run(hostOfAnotherUser({ version: pinned.version, user: pinned.stranger }))
else {
  await runPinned(pinned).catch((cause: Error) =>
    run(hostNotLoaded({ version: pinned.version, reason: cause.message, cause })),
  )
}

/** @param failure the failure of the pinned host; commands that can repair it still run */
async function run(failure?: Failure): Promise<void> {
  process.exitCode = await exitCodeOf(failure)
  await Promise.all([...beforeExit].map((end) => end()))
  // A handle that a library left open (a keep-alive socket, a timer) must not delay a finished
  // command. Output to a pipe is flushed before the exit.
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
  )
  if (lost !== undefined && process.exitCode === 0 && !argv.includes('start')) {
    process.stderr.write(
      `It was done, but stdout could not be written: ${lost.message}.\nMake room for it.\n`,
    )
    process.exitCode = 1
  }
  process.exit()
}

async function exitCodeOf(failure?: Failure): Promise<number> {
  // The commands and their libraries take longer to load than to print a version.
  if (argv.length === 1 && ['-v', '--version'].includes(argv[0] as string)) {
    process.stdout.write(`${version}\n`)
    return 0
  }
  const { app } = await import('./app.ts')
  process.once('exit', sayEndedEarly)
  const exitCode = await app(argv, process, failure)
  process.off('exit', sayEndedEarly)
  return exitCode
}

function sayEndedEarly(exitCode: number): void {
  const { code, message, hint } = endedEarly()
  const isJson = argv.includes('--json') && !argv.includes('start')
  if (isJson)
    process.stdout.write(`${escaped(JSON.stringify({ error: { code, exitCode, message, hint } }))}\n`)
  else process.stderr.write(`${message}\n${hint}\n`)
}
