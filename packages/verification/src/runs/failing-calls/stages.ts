import { cp, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, secretFile } from '@mortise/host'
import { runApp } from '../../harness/app-command.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { settles } from './settles.ts'
import { Shoppers } from './shoppers.ts'
import { type Fault, type Place, TracedApp } from './traced-app.ts'

/** The stages of an application. A call fails in one of them. */
export const stages = ['init', 'install', 'start'] as const
export type Stage = (typeof stages)[number]

const init = ['init']
const install = ['module-install', 'api-cart', 'api-purchase', 'api-event']
const start = ['start', '--no-supervisor', '--port', '0']

/** The exit codes of docs/errors.md. */
const known = [0, 1, 2, 3, 4, 5, 6, 70]
const CALLERS = 8
/**
 * The time limit of requests, in milliseconds. An application that has not responded by then is
 * stopped.
 */
const SHOPPING = 20_000

export interface Tried {
  readonly failures: string[]
  /** The calls that failed on purpose. */
  readonly calls: string[]
  readonly end: number | string | undefined
  readonly acknowledged: number
  readonly unknown: number
}

/** Applications at the start of each stage, to be copied. */
export class Stages {
  readonly #folder: string
  #copies = 0

  /** @param folder an empty one */
  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Creates the start of each stage.
   * @throws {Error} if that fails
   */
  async prepare(): Promise<void> {
    const directory = this.#before('install')
    await mkdir(directory)
    await this.#succeed(directory, init)
    await cp(directory, this.#before('start'), { recursive: true })
    await this.#succeed(this.#before('start'), install)
  }

  /** The places in this stage where calls on the application can fail. */
  async places(stage: Stage): Promise<Place[]> {
    const directory = await this.#copy(stage)
    const { traced } = await this.#through(stage, directory, undefined)
    return traced.placesIn(directory)
  }

  /** Runs a stage with a failing call, and the rest without. */
  async try(stage: Stage, fault: Fault): Promise<Tried> {
    const directory = await this.#copy(stage)
    const { traced, end, shoppers, failures } = await this.#through(stage, directory, fault)
    const calls = await traced.failed()
    if (end === undefined) failures.push('it hangs')
    else if (!known.includes(end as number)) failures.push(`it ends with ${end}: ${traced.said}`)
    else if (end !== 0 && !saysWhy(traced.said, directory))
      failures.push(`${end}, and it says: ${traced.said}`)
    failures.push(...(await this.#goOn(stage, directory, shoppers).catch((error: Error) => [error.message])))
    shoppers?.close()
    const { acknowledged = 0, unknown = 0 } = shoppers ?? {}
    return { failures, calls: calls.map((call) => call.slice(0, 200)), end, acknowledged, unknown }
  }

  async #through(stage: Stage, directory: string, fault: Fault | undefined) {
    const failures: string[] = []
    const argv = { init, install, start }[stage]
    const traced = new TracedApp(directory, argv, join(directory, '..', `${this.#copies}.strace`), fault)
    if (stage !== 'start') return { traced, failures, end: await traced.end(), shoppers: undefined }
    const shoppers = await shoppersOf(directory)
    const url = await traced.url()
    if (
      url !== undefined &&
      (await settles(
        shoppers.shop(url).then(() => true),
        SHOPPING,
      )) === undefined
    )
      failures.push('a request has no response')
    traced.stop()
    return { traced, failures, end: await traced.end(), shoppers }
  }

  /** Repeats what failed, and starts the application with the acknowledged writes. */
  async #goOn(stage: Stage, directory: string, before: Shoppers | undefined): Promise<string[]> {
    if (stage === 'init') await this.#succeed(directory, init)
    if (stage !== 'start') await this.#succeed(directory, install)
    const shoppers = before ?? (await shoppersOf(directory))
    const host = new TracedApp(directory, start, join(directory, '..', `${this.#copies}.again`))
    try {
      const url = await host.url()
      if (url === undefined) throw new Error(`it does not start again: ${host.said}`)
      if (before === undefined) await shoppers.shop(url)
      const failures = await shoppers.check(url)
      host.stop()
      const end = await host.end()
      return end === 0 ? failures : [...failures, `the next host ends with ${end}: ${host.said}`]
    } finally {
      host.kill()
      shoppers.close()
    }
  }

  async #succeed(directory: string, argv: readonly string[]): Promise<void> {
    const { exitCode, said } = await runApp(directory, argv)
    if (exitCode !== 0) throw new Error(`then app ${argv[0]} ends with ${exitCode}: ${said}`)
  }

  #before(stage: Stage): string {
    return join(this.#folder, `before-${stage}`)
  }

  async #copy(stage: Stage): Promise<string> {
    this.#copies += 1
    const directory = join(this.#folder, `${this.#copies}`, 'application')
    await mkdir(directory, { recursive: true })
    if (stage !== 'init') await cp(this.#before(stage), directory, { recursive: true })
    return directory
  }
}

async function shoppersOf(directory: string): Promise<Shoppers> {
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  return new Shoppers(await mintUsers({ issuer: auth.issuer, secret }, CALLERS))
}

/**
 * Whether the output, without the log, names a file, is no "something unexpected", and blames no
 * package.
 */
function saysWhy(said: string, directory: string): boolean {
  const text = said.replace(/^\{"level".*$/gm, '')
  return text.includes(directory) && !/something unexpected|unsafe-package/i.test(text)
}
