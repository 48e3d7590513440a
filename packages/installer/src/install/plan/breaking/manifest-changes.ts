import type { ModulePackage } from '@mortise/application'
import semver from 'semver'
import { shapeOf } from '../checks/conflicts.ts'
import type { BreakingChange } from './breaking-change.ts'

type Described = Pick<ModulePackage, 'manifest' | 'settingsSchema'>

/** The breaking changes in the manifests alone: removed routes, contracts, events and settings. */
export function manifestChanges(previous: Described, next: Described): BreakingChange[] {
  const module = next.manifest.id
  const gone = (code: BreakingChange['code'], names: readonly string[], what: string): BreakingChange[] =>
    names.map((name) => ({ module, code, message: `${what} ${name} is removed.` }))
  return [
    ...gone('route-removed', removedRoutes(previous, next), 'The route'),
    ...contractChanges(previous, next).map(
      (message) => ({ module, code: 'contract-changed', message }) as const,
    ),
    ...gone('event-removed', without(previous.manifest.events, next.manifest.events), 'The event'),
    ...gone('setting-removed', without(settingsOf(previous), settingsOf(next)), 'The setting'),
  ]
}

/** The names of parameters do not matter. */
function removedRoutes(previous: Described, next: Described): string[] {
  const shapes = next.manifest.routes.map(shapeOf)
  return previous.manifest.routes.filter((route) => !shapes.includes(shapeOf(route)))
}

/** A module that requires `^1.2.0` accepts any later 1.x. */
function contractChanges(previous: Described, next: Described): string[] {
  const offered = next.manifest.provides ?? {}
  return Object.entries(previous.manifest.provides ?? {}).flatMap(([contract, version]) => {
    const now = Object.hasOwn(offered, contract) ? (offered[contract] as string) : undefined
    if (now === undefined) return [`The contract ${contract} is no longer provided.`]
    if (semver.satisfies(now, `^${version}`, { includePrerelease: true })) return []
    return [`The contract ${contract} is now ${now}, which is not in the range ^${version}.`]
  })
}

const settingsOf = ({ settingsSchema }: Described) => Object.keys(settingsSchema?.properties ?? {})

const without = (previous: readonly string[] = [], next: readonly string[] = []) =>
  previous.filter((name) => !next.includes(name))
