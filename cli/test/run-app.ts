import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { app } from '../src/app.ts'

export interface Outcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  /** stdout as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever document the test expects
  readonly json: any
}

/** Runs `app` in this process, as if piped. */
export async function runApp(...argv: string[]): Promise<Outcome> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const outputs = Promise.all([text(stdout), text(stderr)])
  const exitCode = await app(argv, { stdin, stdout, stderr })
  stdout.end()
  stderr.end()
  const [out, err] = await outputs
  return {
    exitCode,
    stdout: out,
    stderr: err,
    get json() {
      return JSON.parse(out)
    },
  }
}

/** An application in a folder of the test's own; `run` runs a command on it, `--json` on. */
export async function testApplication(t: Test) {
  const root = await realpath(t.testdir({}))
  const directory = join(root, 'application')
  await mkdir(directory)
  process.env.npm_config_cache = join(root, 'npm-cache')
  process.env.npm_config_userconfig = join(root, 'no.npmrc')
  process.env.npm_config_registry = 'http://127.0.0.1:1/'
  const made = await runApp('init', directory, '--json')
  if (made.exitCode !== 0) throw new Error(made.stdout)
  return { root, directory, run: (...argv: string[]) => runApp(...argv, '--dir', directory, '--json') }
}
