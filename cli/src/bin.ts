import { pinnedHost, runPinned } from './application/pinned-host.ts'
import { endedEarly, exitCodes, type Failure, hostNotLoaded, hostOfAnotherUser } from './failures/index.ts'

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
else if (pinned.stranger !== undefined)
  await run(hostOfAnotherUser({ version: pinned.version, user: pinned.stranger }))
else {
  await runPinned(pinned).catch((cause: Error) =>
    run(hostNotLoaded({ version: pinned.version, reason: cause.message, cause })),
  )
}

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
  const { code, message, hint } = endedEarly
  const isJson = argv.includes('--json') && !argv.includes('start')
  if (isJson) process.stdout.write(`${JSON.stringify({ error: { code, exitCode, message, hint } })}\n`)
  else process.stderr.write(`${message}\n${hint}\n`)
}
