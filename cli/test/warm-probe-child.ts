// The child of `warm-probe.ts`: runs the program of the probe's child once for each request, and describes tables.
// What that imports is loaded once.
import { EventEmitter } from 'node:events'
import { registerHooks, syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import threads from 'node:worker_threads'
import type { Asked } from './warm-probe.ts'

const report = process.send?.bind(process)
const { Worker } = threads

// No watchdog: what it is there for ends without a response here, too, and is asked again of a child that has one.
threads.Worker = new Proxy(Worker, {
  construct(target, args, newTarget) {
    if (!/probe-watchdog\.[jt]s$/.test(String(args[0]))) return Reflect.construct(target, args, newTarget)
    const watchdog = Object.assign(new EventEmitter(), { unref() {} })
    setImmediate(() => watchdog.emit('online'))
    return watchdog
  },
})
syncBuiltinESMExports()

// What a probe gives up is given up for good, and this process has more of them to do.
registerHooks({
  load: (url, context, nextLoad) =>
    /\/seal-process\.[jt]s$/.test(url)
      ? {
          format: 'module',
          shortCircuit: true,
          source: 'export const sealProcess = () => {}, limitThreads = () => {}',
        }
      : nextLoad(url, context),
})

let probes = 0
process.on('message', async (message: Asked | { readonly program?: undefined }) => {
  // What is emitted below comes here, too.
  if (message.program === undefined) return
  if ('set' in message) return report?.({ kind: 'tables', id: message.id, tables: await tablesOf(message) })
  const { program, request } = message
  process.chdir(request.scratch)
  process.env.TMPDIR = request.scratch
  Object.assign(process, { send: report })
  await import(`${pathToFileURL(program)}?${probes++}`)
  process.emit('message', request, undefined)
})
process.once('disconnect', () => process.exit())

/** What the program would respond; undefined where its migrations fail. */
async function tablesOf({ program, set }: Extract<Asked, { set: unknown }>): Promise<unknown> {
  const load = (path: string) => import(pathToFileURL(join(dirname(program), path)).href)
  const { tablesOnEmptyDatabase } = await load('tables-on-empty-database.js')
  const { readMigrations } = await load('../migrations/migration-files.js')
  try {
    return tablesOnEmptyDatabase(set, await readMigrations(set, 'sqlite'))
  } catch {
    return undefined
  }
}
