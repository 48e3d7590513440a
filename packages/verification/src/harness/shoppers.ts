import { readFile } from 'node:fs/promises'
import { configFile, secretFile } from '@mortise/application'
import { bearer, Caller } from './caller.ts'
import { mintUsers } from './mint-users.ts'
import { Random } from './random.ts'
import type { Round } from './round.ts'
import { type Habits, Shopper } from './shopper.ts'

/** Shoppers at one host, whose URL may change. */
export class Shoppers {
  readonly all: readonly Shopper[]
  #url = ''

  /** @param tokens one per user */
  constructor(round: Round, tokens: readonly string[], habits: Habits) {
    this.all = tokens.map((token, number) => {
      const caller = new Caller(round.agent, () => this.#url, bearer(token))
      return new Shopper(caller, new Random(round.seed * 1000 + number), habits)
    })
    round.teardown(() => this.stop())
  }

  get acknowledged(): number {
    return this.sum((shopper) => shopper.count('done'))
  }

  get denied(): number {
    return this.sum((shopper) => shopper.denied)
  }

  sum(of: (shopper: Shopper) => number): number {
    return this.all.reduce((sum, shopper) => sum + of(shopper), 0)
  }

  /** Sends requests to the host at `url` until `stop`. */
  start(url: string): void {
    this.#url = url
    for (const shopper of this.all) shopper.start()
  }

  ignoreResponses(): void {
    for (const shopper of this.all) shopper.ignoreResponses()
  }

  async finished(): Promise<void> {
    await Promise.all(this.all.map((shopper) => shopper.finished()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((shopper) => shopper.stop()))
  }

  /** @returns what does not hold at the host at `url`, or at the last one */
  async check(url = this.#url): Promise<string[]> {
    this.#url = url
    return (await Promise.all(this.all.map((shopper) => shopper.check()))).flat()
  }

  /** Checks what the host at the last URL has, unless it has ended, and counts what was bought. */
  async conclude(round: Round, { hasEnded }: { readonly hasEnded: boolean }): Promise<void> {
    if (!hasEnded) round.fail(...(await this.check()))
    round.count('purchases acknowledged', this.acknowledged)
    round.count('purchases refused', this.denied)
  }
}

/** Users of the application in a folder. */
export async function tokensOf(directory: string, users: number): Promise<string[]> {
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  return mintUsers({ issuer: auth.issuer, secret }, users)
}

/** Shoppers of the application in a folder. They leave when their connection breaks, if nothing else is said. */
export async function shoppersOf(
  round: Round,
  directory: string,
  users: number,
  habits: Habits = { ifBroken: 'leave' },
): Promise<Shoppers> {
  return new Shoppers(round, await tokensOf(directory, users), habits)
}
