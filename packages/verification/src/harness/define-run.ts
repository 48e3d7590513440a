import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { inTemporaryFolder } from '@mortise/application'
import { Figures } from './figures.ts'
import { ownSchema } from './own-schema.ts'
import { type Engine, type Extent, isSlice, Round } from './round.ts'

export interface RunOptions extends Extent {
  /**
   * The URL of a PostgreSQL server. The first call starts one, unless APP_TEST_DATABASE_URL names
   * one.
   */
  postgres(): Promise<string>
}

export interface Outcome {
  /** Counts by plain names: `writes acknowledged`. */
  readonly figures: Readonly<Record<string, number>>
  /** The promises that did not hold; empty if all did. */
  readonly failures: readonly string[]
  /** Why this machine cannot run it. */
  readonly skipped?: string
}

/** A promise of the product, and its test. */
export interface Verification {
  /** The promise as one plain sentence. */
  readonly promise: string
  /**
   * Runs rounds with a new seed each, at least `rounds`, until the minutes are over, the signal is
   * aborted, or a round fails. To repeat a round: `npm run verify -- NAME --seed SEED`.
   */
  run(options: RunOptions): Promise<Outcome>
}

export interface RunDescription {
  readonly promise: string
  /** The reason why this machine cannot run it. */
  readonly whyNot?: () => string | undefined | Promise<string | undefined>
  /** The figures that may not be zero, because the round then tested nothing. */
  readonly needed?: readonly string[]
  /** More of them, of a round that is no slice. */
  readonly neededInTime?: readonly string[]
  /** Where a round takes place, one after the other; without it, on SQLite. */
  readonly engines?: (of: { readonly seed: number; readonly isSlice: boolean }) => readonly Engine[]
  /** Sets up, loads, does harm, and checks: figures and failures are noted in the round. */
  readonly round: (round: Round) => Promise<void>
}

/** On one host on SQLite, then on several hosts on PostgreSQL. */
export const onBothEngines = (): readonly Engine[] => ['sqlite', 'postgres']

/** Where this seed takes place, if half of them take place on PostgreSQL; a slice on SQLite. */
export const onEitherEngine: NonNullable<RunDescription['engines']> = ({ seed, isSlice }) => [
  !isSlice && seed % 2 === 1 ? 'postgres' : 'sqlite',
]

export function defineRun(run: RunDescription): Verification {
  return {
    promise: run.promise,
    async run(options) {
      const skipped = await run.whyNot?.()
      if (skipped !== undefined) return { figures: {}, failures: [], skipped }
      const end = performance.now() + options.minutes * 60_000
      const figures = new Figures()
      for (let seed = options.seed; ; seed += 1) {
        const round = await roundOf(run, { ...options, seed }, end)
        if (round.skipped !== undefined) return { figures: {}, failures: [], skipped: round.skipped }
        figures.count('rounds')
        figures.merge(round.figures)
        const failures = round.failures.map((text) => `seed ${seed}: ${text}`)
        const isOver = figures.of('rounds') >= options.rounds && performance.now() >= end
        if (failures.length > 0 || options.signal.aborted || isOver)
          return { figures: figures.values, failures }
        options.onProgress(`${figures.of('rounds')} rounds: ${JSON.stringify(round.figures.values)}`)
      }
    },
  }
}

/** One round on each of its engines. */
async function roundOf(run: RunDescription, options: RunOptions, end: number) {
  const figures = new Figures()
  const failures: string[] = []
  const engines = run.engines?.({ seed: options.seed, isSlice: isSlice(options) }) ?? ['sqlite']
  for (const engine of engines) {
    const round = await onEngine(run, engine, options, end)
    if (round.skipped !== undefined) return round
    figures.merge(round.figures)
    failures.push(...round.failures.map((text) => (engines.length > 1 ? `${engine}: ${text}` : text)))
  }
  const needed = [...(run.needed ?? []), ...((!isSlice(options) && run.neededInTime) || [])]
  for (const name of needed) if (!figures.of(name)) failures.push(`the run has counted no ${name}`)
  return { figures, failures, skipped: undefined }
}

function onEngine(run: RunDescription, engine: Engine, options: RunOptions, end: number): Promise<Round> {
  return inTemporaryFolder(undefined, async (temporary) => {
    const folder = join(temporary, engine)
    await mkdir(folder)
    const schema = engine === 'postgres' ? ownSchema(await options.postgres()) : undefined
    const round = new Round({ ...options, folder, end, database: schema?.url })
    try {
      await run.round(round)
    } finally {
      await round.close()
      await schema?.drop()
    }
    return round
  })
}
