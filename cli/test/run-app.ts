import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import tap, { type Test } from 'tap'
import './warm-probe.ts'
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
export const runApp = (...argv: string[]): Promise<Outcome> => runFed(undefined, ...argv)

/** The same with a standard input that ends. */
export async function runFed(input: string | undefined, ...argv: string[]): Promise<Outcome> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  if (input !== undefined) stdin.end(input)
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

/** Runs `app` in this process, as if on a terminal, where `response` is typed. @returns what it says on the way, too */
export async function runOnTerminal(response: 'y' | 'n', ...argv: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const said = text(stderr)
  stdin.end(`${response}\n`)
  const isTTY = true
  const streams = { stdin: Object.assign(stdin, { isTTY }), stdout, stderr: Object.assign(stderr, { isTTY }) }
  const exitCode = await app(argv, streams)
  stderr.end()
  return { exitCode, said: await said }
}

export type TestApplication = Awaited<ReturnType<typeof testApplication>>

/** An application in a folder of the test's own; `run` runs a command on it, `--json` on. */
export async function testApplication(t: Test) {
  return newApplication(await realpath(t.testdir({})))
}

/**
 * Applications that are alike: `prepare` makes the first of them, and each test has a copy of it, and of what is beside
 * it, in a folder of its own.
 */
export function copiesOf(prepare: (application: TestApplication) => Promise<unknown>) {
  let prepared: Promise<string> | undefined
  const first = async () => {
    // Below the checkout, like the folders of tests: a packed host finds its dependencies there.
    const folder = tap.testdirName
    await mkdir(folder, { recursive: true })
    const root = await realpath(await mkdtemp(join(folder, 'prepared-')))
    tap.teardown(() => rm(root, { recursive: true, force: true }))
    const application = await newApplication(root)
    await prepare(application)
    return root
  }
  return async (t: Test): Promise<TestApplication> => {
    prepared ??= first()
    const from = await prepared
    const application = applicationIn(await realpath(t.testdir({})))
    await cp(from, application.root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
    return application
  }
}

async function newApplication(root: string) {
  const application = applicationIn(root)
  await mkdir(application.directory)
  const made = await runApp('init', application.directory, '--json')
  if (made.exitCode !== 0) throw new Error(made.stdout)
  return application
}

function applicationIn(root: string) {
  const directory = join(root, 'application')
  process.env.npm_config_cache = join(root, 'npm-cache')
  process.env.npm_config_userconfig = join(root, 'no.npmrc')
  process.env.npm_config_registry = 'http://127.0.0.1:1/'
  return { root, directory, run: (...argv: string[]) => runApp(...argv, '--dir', directory, '--json') }
}
