import { readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'

// A thread of the probe's child. The modules may keep the main thread busy for ever, and what they take meanwhile
// is taken from everybody: this one looks, and ends the process with a LimitError on stderr.

/** `parent` is the process that asked: without it nobody wants the answer. */
const { parent, scratch }: { readonly parent: number; readonly scratch: string } = workerData

const mebibyte = 1024 * 1024

/** The most that the process may take. Its heap has a limit of its own; buffers and threads have none but this. */
const most = { memory: 1024 * mebibyte, disk: 256 * mebibyte, files: 10_000 }

/** How often it looks, in milliseconds: at gigabytes a second little is taken in between. */
const interval = 50

setInterval(() => {
  const reason = process.ppid === parent ? excess() : 'nobody waits for it any more'
  if (reason === undefined) return
  writeSync(2, `\nLimitError: ${reason}\n`)
  process.kill(process.pid, 'SIGKILL')
}, interval)

function excess(): string | undefined {
  if (process.memoryUsage.rss() > most.memory) {
    return `it takes more than ${most.memory / mebibyte} MiB of memory while it loads`
  }
  const { files, bytes } = scratchSize()
  if (bytes > most.disk) return `it writes more than ${most.disk / mebibyte} MiB to the disk while it loads`
  if (files > most.files) return `it makes more than ${most.files} files while it loads`
  return undefined
}

function scratchSize(): { files: number; bytes: number } {
  let [files, bytes] = [0, 0]
  try {
    for (const entry of readdirSync(scratch, { recursive: true, withFileTypes: true })) {
      files += 1
      if (entry.isFile())
        bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0
    }
  } catch (error) {
    // A folder has gone meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { files, bytes }
}
