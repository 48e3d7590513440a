import { decisionOf, isLoaded, type ModulePackage, readConfig } from '@mortise/application'
import { type PurgePlan, planPurge } from '../../data/purge-modules.ts'
import { requireHost } from '../../store/host-package.ts'
import type { Candidate } from '../fetch/candidate.ts'
import type { HostCandidate } from '../fetch/stage-host.ts'
import type { Verified } from '../verify/verify.ts'
import { refuseBreaking } from './breaking/breaking-change.ts'
import { checkModules } from './checks/check-modules.ts'
import { checkNotRequired } from './checks/not-required.ts'
import { type Dependant, dependantsOf, dependantText } from './dependants.ts'
import { type HostPlan, hostPlanOf, modulesToDisable } from './host-plan.ts'
import { type Plan, planOf, previousVersionOf } from './module-plan.ts'
import { agreedPackages, isNewSource } from './new-sources.ts'
import { planRollback, type Rollback } from './plan-rollback.ts'
import { hostPlanText, planText, reportUnknownEvents, restoredHostText } from './print-plan.ts'
import { restoredText, summarizePlan } from './summarize-plan.ts'
import { builderNotes, trustNotes } from './trust-notes.ts'

/** The effect of the change, from files alone. It is printed, and no check rejects it. */
export interface Planned extends Verified {
  /** The plans of `arriving`, in the same order. */
  readonly plans: readonly Plan[]
  readonly restoredPlans: readonly Plan[]
  readonly hostPlan?: HostPlan | undefined
  /** Where code comes from that nobody has agreed to run here. */
  readonly newSources: readonly string[]
  /** The ids of modules that the new host cannot run. */
  readonly leaving: readonly string[]
  /** The modules that continue to serve. */
  readonly others: readonly ModulePackage[]
  /** The active versions that the arriving ones replace. */
  readonly replaced: readonly ModulePackage[]
  /** The plan of a rollback. */
  readonly rollback?: Rollback
  /** The tables to drop. */
  readonly purge: PurgePlan
  /** The modules that lose a contract. */
  readonly dependants: readonly Dependant[]
}

/** @throws {Failure} if the change is impossible */
export async function plan(verified: Verified): Promise<Planned> {
  const { input, previous, target, arriving, arrivingHost, beside, restored, failures } = verified
  const { directory, terminal, dryRun } = input
  const nothing = {
    ...{ ...verified, plans: [], restoredPlans: [], leaving: [], others: beside, replaced: [] },
    ...{ purge: { modules: [], drops: [] }, dependants: [], newSources: [] },
  }
  if (input.kind === 'rollback') return { ...nothing, rollback: await planRollback(verified) }
  // Other modules keep its contracts.
  if (input.kind === 'pause') return nothing
  if (input.kind === 'disable' || input.kind === 'remove') {
    const isRemoval = input.kind === 'remove'
    const purge =
      isRemoval && input.purge ? await planPurge(directory, input.names, verified.staging) : nothing.purge
    const dependants = await dependantsOf(directory, previous, verified.changed)
    for (const one of dependants) terminal.note(dependantText(one))
    await checkNotRequired(directory, previous, verified.changed, isRemoval ? 'removed' : 'disabled')
    return { ...nothing, purge, dependants }
  }

  const restoredPlans: Plan[] = []
  for (const { module, host, locked } of restored) {
    if (host) terminal.note(restoredHostText(locked.version, host))
    if (!module || arriving.some(({ candidate }) => candidate === module)) continue
    const restoredPlan = await planOf(module)
    terminal.note(terminal.verbose ? planText(restoredPlan) : restoredText(restoredPlan))
    restoredPlans.push(restoredPlan)
  }
  if (dryRun && failures.length > 0) throw failures[0]
  if (arriving.length === 0 && !arrivingHost && !verified.external) return { ...nothing, restoredPlans }

  const hostPlan = arrivingHost && (await hostPlanOf(arrivingHost, previous, directory, beside))
  if (hostPlan) terminal.note(hostPlanText(hostPlan, terminal.verbose))
  for (const line of builderNotes(hostPlan)) terminal.note(line)
  const leaving = hostPlan
    ? await modulesToDisable(hostPlan, previous, directory, input.disableIncompatible)
    : []
  const others = beside.filter(({ manifest }) => !leaving.includes(manifest.id))
  // A disabled module is checked and probed when it is enabled.
  const serving = arriving.filter(({ locked }) => isLoaded(decisionOf(locked)))
  const host = arrivingHost ?? restored.find((one) => one.host)?.host
  const nextHost = host?.package ?? requireHost(target, directory)
  await checkModules(serving, others, await readConfig(directory), nextHost)
  const previousVersions = await Promise.all(
    arriving.map(({ id }) => previousVersionOf(id, previous, directory)),
  )
  const replaced = previousVersions.flatMap((one) => (one?.isLoaded && one.package ? [one.package] : []))
  const agreed = await agreedPackages(verified)
  const isNew = (one: Candidate | HostCandidate | undefined) => one !== undefined && isNewSource(one, agreed)
  const fresh = [arrivingHost, ...arriving.map(({ candidate }) => candidate)]
  const sources = fresh.flatMap((one) => (one !== undefined && isNew(one) ? [one.from] : []))
  const newSources = [...new Set(sources)]
  const planned = { ...nothing, restoredPlans, hostPlan, leaving, others, replaced, newSources }
  // The module was planned at its installation.
  if (input.kind === 'enable') return { ...planned, replaced: [] }
  const knownOf = (id: string) => verified.downgrades.find((one) => one.id === id)?.known.version
  const plans = await Promise.all(
    arriving.map((one, index) => planOf(one, previousVersions[index], isNew(one.candidate), knownOf(one.id))),
  )
  for (const one of plans) {
    terminal.note(terminal.verbose ? planText(one) : summarizePlan(one))
    for (const line of trustNotes(one)) terminal.note(line)
  }
  reportUnknownEvents(plans, beside, terminal)
  if (input.failOnBreaking) refuseBreaking(plans)
  return { ...planned, plans }
}
