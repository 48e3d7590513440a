import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { app } from '@mortise/cli'

export interface Outcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs an `app` command in this process, without a terminal. */
export async function runApp(directory: string, ...argv: string[]): Promise<Outcome> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const said = Promise.all([text(stdout), text(stderr)])
  const exitCode = await app([...argv, '--dir', directory, '--json'], { stdin, stdout, stderr })
  stdout.end()
  stderr.end()
  const [out, err] = await said
  return { exitCode, stdout: out, stderr: err }
}

/** @throws {Error} if the exit code is not 0 */
export async function succeed(directory: string, ...argv: string[]): Promise<Outcome> {
  const outcome = await runApp(directory, ...argv)
  if (outcome.exitCode === 0) return outcome
  throw new Error(`app ${argv.join(' ')}: exit code ${outcome.exitCode}\n${outcome.stdout}${outcome.stderr}`)
}
