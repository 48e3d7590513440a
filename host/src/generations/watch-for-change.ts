import { unwatchFile, watch, watchFile } from 'node:fs'
import { basename, dirname } from 'node:path'

/** The host adopts a changed file after this many milliseconds; a command asks sooner. */
const WATCH_DELAY = 500
/** How often it polls the file, in milliseconds: shared folders report no remote changes. */
const LOOK_INTERVAL = 5_000

/** Calls `takeUp` after the file has changed, until `signal` aborts, and once for a change before the watch. */
export function watchForChange(file: string, signal: AbortSignal, takeUp: () => Promise<void>): void {
  let timer: NodeJS.Timeout | undefined
  const soon = () => {
    clearTimeout(timer)
    timer = setTimeout(takeUp, WATCH_DELAY).unref()
  }
  try {
    const watcher = watch(dirname(file), { persistent: false, signal }, (_event, name) => {
      if (name === basename(file)) soon()
    })
    watcher.on('error', () => {})
  } catch {
    // The system has no more watches (EMFILE, ENOSPC): polls the file instead.
  }
  watchFile(file, { persistent: false, interval: LOOK_INTERVAL }, soon)
  signal.addEventListener('abort', () => unwatchFile(file, soon))
  soon()
}
