import { isDeepStrictEqual } from 'node:util'
import { decisionOf, isLoaded, type ModulePackage, readConfig } from '@mortise/application'
import type { Reporter } from '../../reporting/reporter.ts'
import { requireHost } from '../../store/host-package.ts'
import { confirmBreaking } from '../consent/consent.ts'
import { apiChanges } from '../plan/breaking/api-changes.ts'
import { refuseBreaking } from '../plan/breaking/breaking-change.ts'
import type { Plan } from '../plan/module-plan.ts'
import type { Planned } from '../plan/plan.ts'
import { probedText } from '../plan/print-plan.ts'
import { type ProbedChange, probeCandidates } from './probe-candidates.ts'
import { tryHost } from './try-host.ts'

/** The plan after its packages ran in separate processes and responded. */
export interface Probed extends Planned {
  /** Whether they did: false if there was nothing to run, or nobody had agreed to it. */
  readonly probed: boolean
}

/** @throws {Failure} if that fails, or breaks something */
export async function probe(planned: Planned): Promise<Probed> {
  const { input, previous, target, arriving, arrivingHost, restored, others, replaced } = planned
  const { directory, terminal } = input
  const host = arrivingHost ?? restored.find((one) => one.host)?.host
  const isNewHost = !isDeepStrictEqual(target.host, previous.host)
  const serving = arriving.flatMap(({ locked, package: found }) =>
    isLoaded(decisionOf(locked)) ? [found] : [],
  )
  let { plans } = planned
  if (isNewHost && target.host) {
    const next = host?.package ?? requireHost(target, directory)
    await terminal.during('Probing', () => tryHost(next, directory, [...others, ...serving]))
  } else if (arriving.length > 0) {
    const own = arriving.flatMap(({ id, source }) => (source?.isOwn ? [id] : []))
    const config = await readConfig(directory)
    const probed = await terminal.during('Probing', () =>
      probeCandidates(config, others, serving, replaced, new Set(own)),
    )
    plans = plans.map((plan) => completePlan(plan, replaced, probed, terminal))
  }
  if (input.failOnBreaking) refuseBreaking(plans)
  if (!input.dryRun) await confirmBreaking(plans, input)
  return { ...planned, plans, probed: isNewHost || arriving.length > 0 }
}

/** Adds the results of the probe to the plan, and prints them. */
function completePlan(
  plan: Plan,
  replaced: readonly ModulePackage[],
  { previous, next }: ProbedChange,
  terminal: Reporter,
): Plan {
  const before = replaced.find(({ manifest }) => manifest.id === plan.id)
  const found = before && previous ? apiChanges(before.manifest, previous, next) : []
  const access = next.access[plan.id] ?? {}
  const complete = { ...plan, access, breaking: [...plan.breaking, ...found] }
  if (terminal.verbose || found.length > 0) terminal.note(probedText(complete, found, terminal.verbose))
  return complete
}
