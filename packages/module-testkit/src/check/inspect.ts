import { join } from 'node:path'
import { databaseAddress } from '@mortise/application'
import { type Inspect, openStorage } from '@mortise/host'
import { fuzz } from './rules/fuzz.ts'
import { untriedTypes } from './rules/handlers.ts'
import {
  endingRules,
  moduleRules,
  onceRules,
  processRules,
  responseRules,
  servingRules,
} from './rules/index.ts'
import { allowed, startServing } from './watch/seen.ts'
import { apply, type Finding, type Rule } from './world/finding.ts'
import { openWorld } from './world/open-world.ts'
import type { World } from './world/world.ts'

// Runs in the child process of the probe, after the module has passed it.

export interface Inspection {
  /** The id of the module to check. */
  readonly id: string
  /** A schema of its own on a PostgreSQL server, if there is one. */
  readonly postgres: string | undefined
}

export type Note = { readonly finding: Finding } | { readonly untried: string }

export const inspect: Inspect = async (probed) => {
  const { id, postgres } = probed.input as Inspection
  const config = { ...probed.config, secret: Buffer.from('a secret of 32 bytes, for checks only') }
  const note = (found: Note) => probed.note(found)
  const report = async <Subject>(rules: readonly Rule<Subject>[], subject: Subject) => {
    for (const rule of rules) for (const finding of await apply(rule, subject)) note({ finding })
  }
  if (postgres !== undefined) {
    const { hostname, port } = new URL(postgres)
    allowed.add(`${hostname}:${port || 5432}`)
  }
  let world: World | undefined
  for (const database of [undefined, ...(postgres === undefined ? [] : [postgres])]) {
    const file = join(probed.scratch, 'check.db')
    const storage = await openStorage({
      ...(database === undefined ? { file } : databaseAddress({ ...config, database })),
      rehearse: true,
      durable: false,
    })
    world = await openWorld({ ...probed, config }, id, storage)
    if (database === undefined) await report(moduleRules, world.module)
    startServing()
    const { ann, bob, admin, guest } = world.people
    for (const person of [ann, bob, admin, guest]) await world.fill(person)
    await fuzz(world)
    await report(servingRules, world)
    if (database === undefined) await report(onceRules, world)
    await report(responseRules, world)
    for (const type of database === undefined ? untriedTypes(world) : []) {
      note({
        untried: `the handler of ${type}: no module that emits it is a development dependency, or named by --with`,
      })
    }
    await world.close()
    await report(endingRules, world)
    await storage.close()
  }
  // Timers end a moment after they are cleared.
  await new Promise((resolve) => setImmediate(resolve))
  if (world) await report(processRules, world.module)
}
