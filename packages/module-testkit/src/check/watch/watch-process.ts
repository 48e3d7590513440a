import { createHook } from 'node:async_hooks'
import { ChildProcess } from 'node:child_process'
import { isBuiltin, registerHooks, syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { allowed, jobInHand, living, phase, type Seen, seen } from './seen.ts'
import { watchFiles } from './watch-files.ts'

// The child process of a check loads this before anything else. It notes what code does to the
// process, with the stack: only later is it known which folder the module is in. No connection is
// made, so that a check of a module that calls another system does not call it.

/** Milliseconds and handles of Node itself do not matter, these do. */
const LASTING = /^(Timeout|TCPSERVERWRAP|PIPESERVERWRAP|UDPWRAP|FSEVENTWRAP|STATWATCHER|SIGNALWRAP|WORKER)$/
/** The storage ends its own threads. The first read that needs one begins it, on behalf of a module. */
const storage = new URL('.', import.meta.resolve('@mortise/storage')).href

function stack(): string {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 40
  const text = new Error().stack ?? ''
  Error.stackTraceLimit = stackTraceLimit
  return text
}

const note = (what: Seen['what'], name: string, more: Partial<Seen> = {}) =>
  seen.push({ what, name, during: phase(), stack: stack(), job: jobInHand(), ...more })

if (isMainThread) {
  const options = {
    init(id: number, type: string) {
      if (!LASTING.test(type)) return
      const begun = stack()
      if (type !== 'WORKER' || !begun.includes(storage)) living.set(id, { type, stack: begun })
    },
    destroy: (id: number) => void living.delete(id),
    trackPromises: false,
  }
  createHook(options).enable()
  watchConnections()
  watchEnvironment()
  watchImports()
  watchFiles(note)
  const { prototype } = ChildProcess as unknown as {
    prototype: { spawn(options: { file?: string }): unknown }
  }
  const { spawn } = prototype
  prototype.spawn = function (options) {
    note('process', options.file ?? 'a process')
    return spawn.call(this, options)
  }
}

function watchConnections(): void {
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]) {
    const [first, second] = (Array.isArray(given[0]) ? given[0] : given) as [
      { host?: string; port?: number; path?: string } | number,
      unknown,
    ]
    const {
      host = 'localhost',
      port,
      path,
    } = typeof first === 'object' ? first : { host: String(second ?? 'localhost'), port: first }
    const target = path ?? `${host}:${port}`
    if (allowed.has(target)) return Reflect.apply(connect, this, given)
    note('network', target)
    process.nextTick(() => this.destroy(refused(target)))
    return this
  } as typeof connect
  globalThis.fetch = async (input, init = {}) => {
    const target = String(input instanceof Request ? input.url : input)
    const { method = 'GET', headers, body } = input instanceof Request ? input : init
    const sent = `${target} ${JSON.stringify([...new Headers(headers)])} ${typeof body === 'string' ? body : ''}`
    note('network', target, { method, sent })
    throw new TypeError('fetch failed', { cause: refused(target) })
  }
}

const refused = (target: string) =>
  Object.assign(new Error(`connect ECONNREFUSED ${target}: a check makes no connections`), {
    code: 'ECONNREFUSED',
  })

/** Node's own variables, and what libraries ask everywhere. */
const KNOWN = /^(NODE_.*|NO_COLOR|FORCE_COLOR|DEBUG|TZ|LANG|LC_.*|PATH|HOME|TMPDIR|CI|TERM)$/

function watchEnvironment(): void {
  const look = (name: string | symbol) => {
    if (typeof name !== 'string' || KNOWN.test(name)) return
    const seenAt = stack()
    // Only who asks: others ask on behalf of a module.
    const caller = seenAt
      .split('\n')
      .find((line) => line.startsWith('    at ') && !line.includes('watch-process'))
    if (caller !== undefined) seen.push({ what: 'environment', name, during: phase(), stack: caller })
  }
  process.env = new Proxy(process.env, {
    get(target, name) {
      look(name)
      return Reflect.get(target, name)
    },
    has(target, name) {
      look(name)
      return Reflect.has(target, name)
    },
  })
  syncBuiltinESMExports()
}

function watchImports(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context
      const isBare = !isBuiltin(specifier) && !/^(\.|\/|#|[a-z-]+:)/i.test(specifier)
      if (isBare && parentURL?.startsWith('file:')) {
        seen.push({ what: 'import', name: specifier, during: phase(), stack: `at ${parentURL}:1:1` })
      }
      return next(specifier, context)
    },
  })
}
