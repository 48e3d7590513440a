import { syncBuiltinESMExports } from 'node:module'
import { extname, join } from 'node:path'
import threads from 'node:worker_threads'
import { openNoFileOutside } from '@mortise/storage'
import { refusing } from './refuse.ts'

// What Node's permission model leaves open to the modules of a probe, or leaves open in Node 22 and
// 24. It ends here before any of their code runs. A namespace of the network, where the system has
// one, also holds against code that gets around this file.

/** Of Node 24.21 and newer, which enforces it in native code. */
interface Permission {
  drop?(scope: string): void
}

/**
 * From now on: no network, no signals to others, no databases outside of `scratch`, no threads without
 * these limits.
 * @param native whether a module has native code, which nothing here can limit
 * @param thread of this process
 */
export async function sealProcess(scratch: string, native: boolean, thread: threads.Worker): Promise<void> {
  openNoFileOutside(scratch)
  if (!native) {
    ;(process as { permission?: Permission }).permission?.drop?.('addon')
    process.dlopen = (_: object, file: string) => refusing('Addons')(file)
  }
  const preloaded = join(import.meta.dirname, `seal-thread${extname(import.meta.filename)}`)
  limitThreads(thread, ['--no-experimental-sqlite', '--require', preloaded], native ? [] : ['--allow-addons'])
  await import('./seal-thread.ts')
}

/**
 * Threads would begin without limits, with `execArgv: []`. From now on they have those of the process,
 * and begin none themselves.
 * @param thread of this process
 * @param more their further flags
 * @param without flags that they do not get
 */
export function limitThreads(
  thread: threads.Worker,
  more: readonly string[] = [],
  without: readonly string[] = [],
): void {
  const { Worker } = threads
  const left = ['--allow-worker', ...without]
  const own = process.execArgv.filter((flag) => /^--(permission$|allow-)/.test(flag) && !left.includes(flag))
  const execArgv = [...own, ...more]
  function LimitedWorker(file: string | URL, options: threads.WorkerOptions = {}): object {
    const kind = new.target === undefined || (new.target as unknown) === LimitedWorker ? Worker : new.target
    return Reflect.construct(Worker, [file, { ...options, execArgv }], kind as typeof Worker)
  }
  LimitedWorker.prototype = Worker.prototype
  Object.assign(threads, { Worker: LimitedWorker })
  Worker.prototype.constructor = LimitedWorker
  // What a thread consists of would make another one.
  for (const symbol of Object.getOwnPropertySymbols(thread)) {
    const part: unknown = Reflect.get(thread, symbol)
    if (typeof part === 'object' && part !== null && 'startThread' in part)
      Object.defineProperty(Object.getPrototypeOf(part), 'constructor', { value: LimitedWorker })
  }
  syncBuiltinESMExports()
}
