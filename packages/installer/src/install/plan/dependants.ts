import type { LockFile } from '@mortise/application'
import { readActive } from './checks/not-required.ts'

/** An active module that uses a contract of a module that leaves. */
export interface Dependant {
  readonly module: string
  /** The module that provides the contract. */
  readonly of: string
  readonly contract: string
  readonly range: string
  /** Whether it continues to serve without the contract. */
  readonly optional: boolean
}

/** Finds the active modules that stay and use a contract of those that leave. */
export async function dependantsOf(
  directory: string,
  { modules }: LockFile,
  going: readonly string[],
): Promise<Dependant[]> {
  if (going.length === 0) return []
  const active = await readActive(directory, Object.entries(modules))
  const isGoing = (id: string) => going.includes(id)
  const staying = active.filter(({ manifest }) => !isGoing(manifest.id))
  return active.flatMap(({ manifest: { id: of, provides = {} } }) =>
    isGoing(of) ? Object.keys(provides).flatMap((contract) => usersOf(of, contract, staying)) : [],
  )
}

type Active = Awaited<ReturnType<typeof readActive>>

function usersOf(of: string, contract: string, staying: Active): Dependant[] {
  return staying.flatMap(({ manifest: { id: module, requires = {}, optional = {} } }) =>
    [requires, optional].flatMap((contracts) =>
      Object.hasOwn(contracts, contract)
        ? [{ module, of, contract, range: contracts[contract] as string, optional: contracts === optional }]
        : [],
    ),
  )
}

/** For people. */
export const dependantText = ({ module, of, contract, range, optional }: Dependant): string =>
  optional
    ? `${module} uses the contract "${contract}" (${range}) of ${of}, and continues without it.`
    : `${module} requires the contract "${contract}" (${range}) of ${of}.`
