import { readdir, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { App } from '../../harness/app.ts'
import { signal } from '../../harness/signal.ts'

/**
 * The system calls that change the disk. SQLite's shared memory (`-shm`) is rebuilt after a crash.
 */
const changing =
  'open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,truncate,ftruncate,fallocate,sendfile,copy_file_range,' +
  'fsync,fdatasync,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,' +
  'chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat'

/**
 * The `app` command under strace. After every system call that changes something in its application,
 * all threads of the process stop until `onCall` decides whether to kill it (SIGKILL).
 */
export class SteppedApp extends App {
  /** How it ended, after the last call. */
  readonly done: Promise<number | string>

  /** @param onCall gets the call as strace writes it */
  constructor(directory: string, argv: readonly string[], onCall: OnCall) {
    const { npm_config_registry, npm_config_cache, npm_config_userconfig } = process.env
    // With -D the traced process is a child of this one and can get signals.
    const options = ['-D', '-f', '-y', '-q', '-s', '0', '-o', '|exec cat >&3']
    super(directory, argv, {
      under: ['strace', ...options, '-e', `trace=${changing}`, '-e', `inject=${changing}:signal=STOP`, '--'],
      pipes: ['pipe'],
      environment: {
        ...{ npm_config_registry, npm_config_cache, npm_config_userconfig },
        // One thread for file calls, which keeps the order of the program.
        UV_THREADPOOL_SIZE: '1',
      },
    })
    this.done = follow(this, directory, onCall).then(async () => (await this.ended).how)
  }
}

type OnCall = (call: string) => boolean | Promise<boolean>

async function follow(app: App, folder: string, onCall: OnCall): Promise<void> {
  const unfinished = new Map<string, string>()
  const stopping = new Set<string>()
  let changed: string | undefined
  for await (const line of createInterface({ input: app.child.stdio[3] as Readable })) {
    const [, thread = '', event = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    if (event.startsWith('--- SIGSTOP')) stopping.add(thread)
    // The thread that made the call reports it first, the others after it.
    else if (event === '--- stopped by SIGSTOP ---' && stopping.delete(thread)) {
      const call = changed
      changed = undefined
      if (call !== undefined) {
        await standsStill(thread)
        if (await onCall(call)) {
          app.signal('SIGKILL')
          continue
        }
      }
      // It may have been killed in the meantime.
      signal(Number(thread), 'SIGCONT')
    } else {
      const call = (unfinished.get(thread) ?? '') + event.replace(/^<\.\.\. \w+ resumed>/, '')
      unfinished.delete(thread)
      if (event.endsWith('<unfinished ...>'))
        unfinished.set(thread, event.replace(/ ?<unfinished \.\.\.>$/, ''))
      else if (isChange(call, folder)) changed = call
    }
  }
}

/**
 * Whether a call succeeded and changed something in `folder`. Opening for reading changes nothing.
 */
function isChange(call: string, folder: string): boolean {
  if (!/^\w+\(/.test(call) || call.includes(' = -1 ') || !call.includes(folder)) return false
  return !/^open(at)?\(/.test(call) || /O_CREAT|O_TRUNC/.test(call)
}

/** Resolves when all threads of the process have stopped. */
async function standsStill(thread: string): Promise<void> {
  for (;;) {
    const threads = await readdir(`/proc/${thread}/task`).catch(() => [])
    const states = await Promise.all(
      threads.map(async (name) => {
        const stat = await readFile(`/proc/${thread}/task/${name}/stat`, 'latin1').catch(() => ') Z')
        return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? ''
      }),
    )
    if (states.every((state) => 'tTZX'.includes(state))) return
    await setTimeout(1)
  }
}
