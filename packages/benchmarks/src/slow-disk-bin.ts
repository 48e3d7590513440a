import { measureSlowDisk } from './measure-slow-disk.ts'

// npm run slow-disk -w packages/benchmarks [-- CHECKOUT]: how long reads wait while each fsync takes
// 10 ms more, of this host and that of another checkout. Needs strace.
// With TMPDIR=/dev/shm and under `chrt -r 1` the machine's disk and its other work do not count.

const [before] = process.argv.slice(2)
const onProgress = (text: string) => process.stderr.write(`${text} …\n`)
process.stdout.write(
  `${JSON.stringify(await measureSlowDisk({ rounds: 7, seconds: 3, delay: 10, before, onProgress }), null, 2)}\n`,
)
