import { isAbsolute } from 'node:path'
import type { Builder } from '../fetch/provenance.ts'
import type { HostPlan } from './host-plan.ts'
import type { Plan } from './module-plan.ts'

/** What a person has to know of where a package comes from, before the question. */
export function trustNotes(plan: Plan): string[] {
  const { young = [], waiting = [], undated = [] } = plan.ages ?? {}
  return [
    ...waiting.map(
      (one) =>
        `${one.package} ${one.instead} instead of ${one.version}, which was published at ${one.published} and waits until ${one.installable}. --allow-new installs it now.`,
    ),
    ...young.map((one) => `${one.package} ${one.version} is new: it was published at ${one.published}.`),
    ...(undated.length > 0 && !isAbsolute(plan.origin)
      ? [`The registry gives no publication date for ${undated.join(', ')}.`]
      : []),
    ...builderNotes({ ...plan, what: `${plan.id} ${plan.version}` }),
  ]
}

export function builderNotes(
  plan: (Pick<Plan | HostPlan, 'provenanceChange'> & { readonly what?: string }) | undefined,
): string[] {
  if (!plan?.provenanceChange) return []
  const { what = 'The host', provenanceChange: change } = plan
  return [
    `${what} has another origin than the installed version: ${builderText(change.to)}, before ${builderText(change.from)}.`,
  ]
}

function builderText({ repository, workflow }: Builder): string {
  const parts = [
    workflow,
    repository !== undefined && !workflow?.startsWith(repository) && `of ${repository}`,
  ]
  return parts.filter(Boolean).join(' ') || 'not named'
}
