import { readGenerations } from '@mortise/host'
import type { Terminal } from '../../terminal/terminal.ts'
import { askAboutOrigins } from '../consent/ask-about-origins.ts'
import type { Restorable } from '../fetch/restore-store.ts'
import { type Plan, planOf, planText } from './module-plan.ts'
import { sizeOf } from './size-of.ts'

/**
 * Prints what was fetched to bring the store in line with the lock, and on a terminal asks about an origin that
 * nothing in the history of this application has: the lock may have come with `git pull`. None of its code has run.
 * @param ask whether to ask
 * @returns the plans of the modules
 * @throws {Failure} where the answer is not yes
 */
export async function planRestoring(
  directory: string,
  staged: readonly Restorable[],
  terminal: Terminal,
  ask: boolean,
): Promise<Plan[]> {
  const plans: Plan[] = []
  for (const { module, host, locked } of staged) {
    if (host) terminal.note(hostText(locked.version, host))
    if (!module) continue
    const plan = await planOf(module)
    terminal.note(planText(plan))
    plans.push(plan)
  }
  const past = await readGenerations(directory)
  const known = past.known.flatMap(({ lock }) => Object.values(lock.modules))
  const modules = staged.flatMap(({ module }) => module ?? [])
  if (ask) await askAboutOrigins(modules, known, terminal, false)
  return plans
}

function hostText(
  version: string,
  { from, files, bytes, integrity, tree }: NonNullable<Restorable['host']>,
): string {
  return [
    `host ${version}`,
    `  origin      ${from}`,
    `  size        ${files} files, ${sizeOf(bytes)}`,
    `  integrity   ${integrity}`,
    `  tree        ${tree}`,
  ].join('\n')
}
