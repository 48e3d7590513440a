// The child of `warm-probe.ts`: runs the program of the probe's child once for each request. What that imports is
// loaded once.
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'
import threads from 'node:worker_threads'

const tell = process.send?.bind(process)
const { Worker } = threads

// No watchdog: what it is there for ends without a yes here, too, and is asked again of a child that has one.
threads.Worker = new Proxy(Worker, {
  construct(target, args, newTarget) {
    if (!/probe-watchdog\.[jt]s$/.test(String(args[0]))) return Reflect.construct(target, args, newTarget)
    const watchdog = Object.assign(new EventEmitter(), { unref() {} })
    setImmediate(() => watchdog.emit('online'))
    return watchdog
  },
})
syncBuiltinESMExports()

let probes = 0
process.on(
  'message',
  async (message: { readonly program?: string; readonly request: { scratch: string } }) => {
    const { program, request } = message
    // What is emitted below comes here, too.
    if (program === undefined) return
    process.chdir(request.scratch)
    process.env.TMPDIR = request.scratch
    Object.assign(process, { send: tell })
    await import(`${pathToFileURL(program)}?${probes++}`)
    process.emit('message', request, undefined)
  },
)
process.once('disconnect', () => process.exit())
