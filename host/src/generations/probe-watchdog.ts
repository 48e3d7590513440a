import { readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'

// A thread of the probe's child process. Modules may keep the main thread busy forever and use up
// memory and disk. This thread checks that, and ends the process with a LimitError on stderr.

/** `parent` is the process that started the probe; without it nobody needs the result. */
const { parent, scratch }: { readonly parent: number; readonly scratch: string } = workerData

const mebibyte = 1024 * 1024

/** The heap has a limit of its own; buffers and threads have only this one. */
const most = { memory: 1024 * mebibyte, disk: 256 * mebibyte, files: 10_000 }

/** How often to check, in milliseconds: even at gigabytes a second little is used in between. */
const interval = 50

setInterval(() => {
  const reason = process.ppid === parent ? excess() : 'the process that started the probe has ended'
  if (reason === undefined) return
  writeSync(2, `\nLimitError: ${reason}\n`)
  process.kill(process.pid, 'SIGKILL')
}, interval)

function excess(): string | undefined {
  if (process.memoryUsage.rss() > most.memory) {
    return `it uses more than ${most.memory / mebibyte} MiB of memory while it loads`
  }
  const { files, bytes } = scratchSize()
  if (bytes > most.disk) return `it writes more than ${most.disk / mebibyte} MiB to the disk while it loads`
  if (files > most.files) return `it creates more than ${most.files} files while it loads`
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
    // A folder has disappeared meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { files, bytes }
}
