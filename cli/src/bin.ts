import { app } from './app.ts'

// Whoever reads may stop before the end, as `head` does; a host goes on serving then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await app(process.argv.slice(2), process)
// Whatever a library left open (a keep-alive socket, a timer) does not keep a finished command waiting; what was
// written to a pipe is out before it ends.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write('', done))),
)
process.exit()
