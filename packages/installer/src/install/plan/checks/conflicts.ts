import type { ModulePackage } from '@mortise/application'
import { hostPaths, ownedPath } from '@mortise/host'
import { engines } from '@mortise/storage'
import { conflict, type Failure } from '../../../failures/index.ts'

/** Rejects what modules that serve together must not share. */
export function checkConflicts(fresh: readonly ModulePackage[], all: readonly ModulePackage[]): void {
  for (const module of fresh) {
    if (module.manifest.id === 'host') throw conflictOf(module, 'its id is the name of the host')
    for (const route of module.manifest.routes) checkRoute(module, route, all)
    checkTables(module, all)
    const other = all.find(({ manifest }) => manifest.operator && manifest.id !== module.manifest.id)
    if (module.manifest.operator && other !== undefined)
      throw conflictOf(module, `it operates the application, and so does ${other.manifest.id}`)
  }
}

function checkRoute(module: ModulePackage, route: string, all: readonly ModulePackage[]): void {
  const path = ownedPath(route)
  if (hostPaths.includes(path)) throw conflictOf(module, `its route ${route} belongs to the host`)
  for (const other of all) {
    if (other.manifest.id === module.manifest.id) continue
    if (other.manifest.routes.some((theirs) => ownedPath(theirs) === path)) {
      throw conflictOf(module, `its route ${route} lies below ${path}, which belongs to ${other.manifest.id}`)
    }
  }
}

/** A route without the names of its parameters: `/x/:id` and `/x/:other` are the same. */
export function shapeOf(route: string): string {
  return route.replace(/:\w+/g, ':')
}

const hostTables = ['mortise', ...Object.values(engines).map(({ reservedPrefix }) => reservedPrefix)]

function checkTables(module: ModulePackage, all: readonly ModulePackage[]): void {
  const { tables } = module.manifest
  if (tables === undefined) return
  const reserved = hostTables.find((own) => overlap(tables, own))
  if (reserved !== undefined) {
    throw conflictOf(module, `its tables "${tables}" conflict with those of the host ("${reserved}")`)
  }
  for (const { manifest } of all) {
    if (manifest.id === module.manifest.id || manifest.tables === undefined) continue
    if (overlap(tables, manifest.tables)) {
      throw conflictOf(module, `its tables "${tables}" conflict with "${manifest.tables}" of ${manifest.id}`)
    }
  }
}

/** Whether one prefix includes the other: "cart" owns cart and cart_*. */
function overlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}_`) || b.startsWith(`${a}_`)
}

function conflictOf({ manifest }: ModulePackage, reason: string): Failure {
  return conflict({ id: manifest.id, reason })
}
