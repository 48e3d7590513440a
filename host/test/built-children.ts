// Imported by tests that start many processes: each runs what `npm run build` has made of its sources. Node would strip
// the types of two hundred files for every one, since a probe's child may keep no cache.
import childProcess, { type ForkOptions } from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'

const [sources, built] = ['../src/', '../dist/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
const { fork } = childProcess

childProcess.fork = ((program: string, options: ForkOptions) =>
  fork(program.replace(sources as string, built as string).replace(/\.ts$/, '.js'), options)) as typeof fork
syncBuiltinESMExports()
