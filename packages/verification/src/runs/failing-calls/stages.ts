import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun, startWords } from '../../harness/app.ts'
import type { Round } from '../../harness/round.ts'
import { type Shoppers, shoppersOf } from '../../harness/shoppers.ts'
import { within } from '../../harness/until.ts'
import { type Fault, type Place, TracedApp } from './traced-app.ts'

/** The stages of an application. A call fails in one of them. */
export const stages = ['init', 'install', 'start'] as const
export type Stage = (typeof stages)[number]

const words = {
  init: ['init'],
  install: ['module-install', 'api-cart', 'api-purchase', 'api-event'],
  start: startWords(),
}

/** The exit codes of docs/errors.md. */
const known = [0, 1, 2, 3, 4, 5, 6, 70]
const CALLERS = 8
/** The most writes of each caller. */
const WRITES = 12
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
}

/** Applications at the start of each stage, to be copied. */
export class Stages {
  readonly #round: Round
  #copies = 0

  constructor(round: Round) {
    this.#round = round
  }

  /**
   * Creates the start of each stage.
   * @throws {Error} if that fails
   */
  async prepare(): Promise<void> {
    const directory = this.#before('install')
    await mustRun(directory, [words.init])
    await cp(directory, this.#before('start'), { recursive: true })
    await mustRun(this.#before('start'), [words.install])
  }

  /** The places in this stage where calls on the application can fail. */
  async places(stage: Stage): Promise<Place[]> {
    const directory = await this.#copy(stage)
    const { traced } = await this.#through(stage, directory)
    return traced.placesIn(directory)
  }

  /** Runs a stage with a failing call, and the rest without. */
  async try(stage: Stage, fault: Fault): Promise<Tried> {
    const directory = await this.#copy(stage)
    const { traced, end, shoppers, failures } = await this.#through(stage, directory, fault)
    const { said } = traced
    if (end === undefined) failures.push('it hangs')
    else if (!known.includes(end as number)) failures.push(`it ends with ${end}: ${said}`)
    else if (end !== 0 && !saysWhy(said, directory)) failures.push(`${end}, and it says: ${said}`)
    failures.push(...(await this.#goOn(stage, directory, shoppers).catch((error: Error) => [error.message])))
    return { failures, end, calls: await traced.failed() }
  }

  async #through(stage: Stage, directory: string, fault?: Fault) {
    const failures: string[] = []
    const traced = new TracedApp(directory, words[stage], `${directory}.strace`, fault)
    if (stage !== 'start') return { traced, failures, end: await traced.howItEnds(), shoppers: undefined }
    const shoppers = await this.#shoppersOf(directory)
    const url = await traced.serving().catch(() => undefined)
    if (url !== undefined) {
      if (!(await this.#shop(shoppers, url))) failures.push('a request has no response')
      this.#round.count('writes acknowledged', shoppers.acknowledged)
      this.#round.count(
        'writes with unknown outcome',
        shoppers.sum((shopper) => shopper.count('unknown')),
      )
    }
    traced.signal('SIGTERM')
    return { traced, failures, end: await traced.howItEnds(), shoppers }
  }

  /** Repeats what failed, and starts the application with the acknowledged writes. */
  async #goOn(stage: Stage, directory: string, before: Shoppers | undefined): Promise<string[]> {
    if (stage === 'init') await mustRun(directory, [words.init])
    if (stage !== 'start') await mustRun(directory, [words.install])
    const shoppers = before ?? (await this.#shoppersOf(directory))
    const host = new TracedApp(directory, words.start, `${directory}.again`)
    try {
      const url = await host.serving()
      if (before === undefined) await this.#shop(shoppers, url)
      const failures = await shoppers.check(url)
      for (const { caller, bought } of shoppers.all) {
        const events = await caller.list<{ type: string }>('/event?limit=100')
        const created = events.filter(({ type }) => type === 'purchase.created').length
        if (created !== bought.length) failures.push(`${created} events of ${bought.length} purchases`)
      }
      host.signal('SIGTERM')
      const end = await host.howItEnds()
      return end === 0 ? failures : [...failures, `the next host ends with ${end}: ${host.said}`]
    } finally {
      await host.kill()
    }
  }

  /** Callers who add to their cart without a key, and purchase with one. */
  #shoppersOf(directory: string): Promise<Shoppers> {
    return shoppersOf(this.#round, directory, CALLERS, {
      does: [
        [1, 'addition'],
        [1, 'purchase'],
      ],
      ifBroken: 'leave',
      most: WRITES,
    })
  }

  /** @returns false if a request has no response in time */
  async #shop(shoppers: Shoppers, url: string): Promise<boolean> {
    shoppers.start(url)
    return (
      (await within(
        SHOPPING,
        shoppers.finished().then(() => true),
      )) === true
    )
  }

  #before(stage: Stage): string {
    return join(this.#round.folder, `before-${stage}`)
  }

  async #copy(stage: Stage): Promise<string> {
    this.#copies += 1
    const directory = join(this.#round.folder, `${this.#copies}`, 'application')
    await mkdir(directory, { recursive: true })
    if (stage !== 'init') await cp(this.#before(stage), directory, { recursive: true })
    return directory
  }
}

/**
 * Whether the output, without the log, names a file, is no "something unexpected", and blames no
 * package.
 */
function saysWhy(said: string, directory: string): boolean {
  const text = said.replace(/^\{"level".*$/gm, '')
  return text.includes(directory) && !/something unexpected|unsafe-package/i.test(text)
}
