import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, readLockFile } from '@mortise/host'
import { writeChangingModule } from '../../harness/changing-module.ts'
import type { Random } from '../../harness/random.ts'

/** What the application has of the module `flip`. */
export interface Flip {
  /** `1.0.<patch>`; undefined if it is not installed. */
  readonly patch: number | undefined
  readonly isEnabled: boolean
  readonly mark: number
}

/** A command and the state after it. */
export interface FlipChange {
  readonly argv: readonly string[]
  readonly after: Flip
}

/** @param newest the highest version so far: none is installed twice, so nothing is a downgrade */
export async function nextChange(
  random: Random,
  flip: Flip,
  newest: number,
  folder: string,
): Promise<FlipChange> {
  const { patch, isEnabled, mark } = flip
  const install = async () => {
    const next = newest + 1
    const source = await writeChangingModule(join(folder, `flip-${next}`), 'flip', `1.0.${next}`)
    const after = { patch: next, isEnabled: patch === undefined || isEnabled, mark }
    return { argv: ['module-install', source], after }
  }
  if (patch === undefined) return await install()
  const toggle = {
    argv: [isEnabled ? 'module-disable' : 'module-enable', 'flip'],
    after: { ...flip, isEnabled: !isEnabled },
  }
  const set = {
    argv: ['config', 'set', 'flip.mark', `${mark + 1}`],
    after: { ...flip, mark: mark + 1 },
  }
  const remove = { argv: ['module-remove', 'flip'], after: { ...flip, patch: undefined } }
  const kind = random.weighted([
    [5, 'toggle'],
    [2, 'set'],
    [2, 'install'],
    [1, 'remove'],
  ])
  if (kind === 'install') return await install()
  return kind === 'set' ? set : kind === 'remove' ? remove : toggle
}

/** What a host serves of it, as `read` returns it. */
export const servedOf = ({ patch, isEnabled, mark }: Flip): string =>
  patch === undefined || !isEnabled ? '404' : `200 {"version":"1.0.${patch}","mark":${mark},"notes":0}`

/** The state by the files of the application. */
export async function flipIn(directory: string): Promise<Flip> {
  const { flip } = (await readLockFile(directory)).modules
  const { modules } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  return {
    patch: flip === undefined ? undefined : Number(flip.version.split('.')[2]),
    isEnabled: flip?.enabled ?? true,
    mark: modules?.flip?.mark ?? 0,
  }
}
