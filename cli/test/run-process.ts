import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { withoutLimits } from './running-host.ts'

export const door = fileURLToPath(new URL('../bin.js', import.meta.url))

export interface Running {
  readonly child: ChildProcess
  stdout: string
  stderr: string
  /** Resolves when it has said something that matches. */
  says(pattern: RegExp): Promise<void>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Nobody balances load over the hosts of a test: they stop at once. */
export const withoutDrain = { APP_SERVER_DRAIN_SECONDS: '0' }

export interface StartOptions {
  readonly environment?: NodeJS.ProcessEnv
  /** Whether it, and what it starts, is a process group of its own. */
  readonly detached?: boolean
}

/** Runs `app` as a process of its own; it is killed after the test, if it still runs then. */
export function startApp(
  t: Test,
  argv: readonly string[],
  nodeOptions: readonly string[] = [],
  program = door,
  { environment, detached = false }: StartOptions = {},
): Running {
  const child = spawn(process.execPath, [...nodeOptions, program, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutLimits, ...withoutDrain, ...process.env, ...environment },
    detached,
  })
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const running: Running = {
    child,
    stdout: '',
    stderr: '',
    ended,
    async says(pattern) {
      while (!pattern.test(running.stdout + running.stderr)) {
        const more = await Promise.race([heard(), ended.then(() => 'ended')])
        if (more === 'ended' && !pattern.test(running.stdout + running.stderr)) {
          throw new Error(`ended without saying ${pattern}: ${running.stdout}${running.stderr}`)
        }
      }
    },
  }
  const listeners = new Set<() => void>()
  const heard = () => new Promise<void>((resolve) => listeners.add(resolve))
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      running[name] += text
      for (const listener of listeners) listener()
      listeners.clear()
    })
  }
  return running
}
