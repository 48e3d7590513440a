import dgram from 'node:dgram'
import dns from 'node:dns'
import module, { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { denied, refusing, resourceOf } from './refuse.ts'

// Takes the network and the signals from the code of this thread. The threads of a probed module load
// this file first.

function sealNetwork(): void {
  net.Socket.prototype.connect = function connect(this: net.Socket, ...given: unknown[]) {
    const resource = destinationOf(given)
    process.nextTick(() => this.destroy(denied('Net', resource)))
    return this
  }
  net.Server.prototype.listen = refusing('Net')
  // It binds a port or a path, and its result makes further handles.
  Object.assign(net, { _createServerHandle: refusing('Net') })
  Object.assign(dgram.Socket.prototype, {
    bind: refusing('Net'),
    connect: refusing('Net'),
    send: refusing('Net'),
  })
  refuseAll(dns, lookupByCallback)
  refuseAll(dns.Resolver.prototype, lookupByCallback)
  refuseAll(dns.promises, lookupByPromise)
  refuseAll(dns.promises.Resolver.prototype, lookupByPromise)
}

/** `connect(port, host)`, `connect(path)`, `connect({ port, host })`, or these normalised to an array. */
function destinationOf([first, second]: readonly unknown[]): string {
  if (Array.isArray(first)) return destinationOf(first)
  if (typeof first !== 'object' || first === null) {
    return typeof second === 'string' ? `${second}:${resourceOf(first)}` : resourceOf(first)
  }
  const { path, host = 'localhost', port } = first as { path?: unknown; host?: unknown; port?: unknown }
  return typeof path === 'string' ? path : `${resourceOf(host)}:${resourceOf(port)}`
}

function lookupByCallback(...given: unknown[]): void {
  const callback = given.at(-1)
  const error = denied('Net', resourceOf(given[0]))
  if (typeof callback !== 'function') throw error
  process.nextTick(callback as () => void, error)
}

const lookupByPromise = async (name: unknown) => {
  throw denied('Net', resourceOf(name))
}

function refuseAll(functions: object, refuse: (...given: never[]) => unknown): void {
  for (const name of Object.getOwnPropertyNames(functions))
    if (/^(lookup|resolve|reverse)/.test(name)) Object.assign(functions, { [name]: refuse })
}

function sealSignals(): void {
  const process_ = process as unknown as { _kill(pid: number, signal: number): unknown }
  const kill = process_._kill.bind(process)
  Object.assign(process, {
    _kill: (pid: number, signal: number) =>
      pid === process.pid ? kill(pid, signal) : refusing('Signal')(pid),
    _debugProcess: refusing('Signal'),
  })
}

sealNetwork()
sealSignals()
// Hooks of the loader run in a thread of Node's own.
Object.assign(module, { register: refusing('WorkerThreads') })
syncBuiltinESMExports()
