import { continueIn, pinnedHost } from './application/pinned-host.ts'
import { exitCodes, Failure } from './terminal/failure.ts'

// What the command, the host and their libraries make (npm's cache, too) is never for a group or everyone to write,
// whatever the umask allows. What is private has a mode of its own where it is made.
process.umask(process.umask(0o077) | 0o022)

// Whoever reads may stop before the end, as `head` does; a host goes on serving then.
let lost: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') lost = error
})
// Nor does a host end since its log is on a full disk.
process.stderr.on('error', () => {})

const argv = process.argv.slice(2)
// Where nothing is left that could settle what is awaited, Node would end with 13.
process.exitCode = exitCodes.unexpected
const pinned = pinnedHost(argv)
if (pinned === undefined) await run()
else if (pinned.stranger !== undefined) await run(ofAnotherUser(pinned.version, pinned.stranger))
else await continueIn(pinned).catch((error: Error) => run(cannotBeLoaded(pinned.version, error)))

/** @param failure of the pinned host: commands that can mend it run all the same */
async function run(failure?: Failure): Promise<void> {
  const { app } = await import('./app.ts')
  process.once('exit', sayEndedEarly)
  process.exitCode = await app(argv, process, failure)
  process.off('exit', sayEndedEarly)
  // Whatever a library left open (a keep-alive socket, a timer) does not keep a finished command waiting; what was
  // written to a pipe is out before it ends.
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

function sayEndedEarly(exitCode: number): void {
  const message = 'The command ended before it was done: what it waited for never came.'
  const hint = 'Run it again: what it had begun is completed or taken back. If it ends so again, report it.'
  const isJson = argv.includes('--json') && !argv.includes('start')
  if (isJson)
    process.stdout.write(`${JSON.stringify({ error: { code: 'ended-early', exitCode, message, hint } })}\n`)
  else process.stderr.write(`${message}\n${hint}\n`)
}

function ofAnotherUser(version: string, user: number): Failure {
  return new Failure(
    'refused',
    'host-of-another-user',
    `The host ${version} that modules.lock.json names belongs to another user (${user}), whose code is not run as you.`,
    'Run the command as that user. MORTISE_UNPINNED=1 in the environment runs it in the host that you have called.',
  )
}

function cannotBeLoaded(version: string, cause: Error): Failure {
  return new Failure(
    'refused',
    'host-incomplete',
    `The host ${version} that modules.lock.json names is missing in the store, or damaged: ${cause.message}`,
    'Run "app module-install" without a name: it brings the store in line with the lock.',
    { cause },
  )
}
