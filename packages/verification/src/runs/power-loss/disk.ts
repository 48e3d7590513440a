import { readFileSync } from 'node:fs'
import { basename, dirname, relative } from 'node:path'
import type { Random } from '../../harness/random.ts'
import { File } from './file.ts'
import type { Operation } from './operation.ts'

class Folder {
  readonly names = new Map<string, Entry>()
  readonly durable = new Map<string, Entry>()
}

interface Link {
  readonly target: string
}

type Entry = Folder | File | Link

/** Operations on names. On the disk each one is complete or absent. */
interface NameChange {
  readonly place: number
  readonly effects: readonly {
    readonly folder: Folder
    readonly name: string
    readonly entry: Entry | undefined
  }[]
}

/** The content of a folder by path: files, folders and links. */
export type Tree = ReadonlyMap<string, Buffer | Folder | Link>
export const isFolder = (entry: unknown): entry is Folder => entry instanceof Folder

/**
 * A folder on a disk that may lose power. A name is durable after a sync of its folder, bytes after a
 * sync of their file. Everything else may be there or not, in any combination. After a failed sync of
 * a file, a later one writes only pages that were written again. A failed sync of a folder keeps its
 * names pending; a file system with a journal would end.
 */
export class Disk {
  readonly #root = new Folder()
  readonly #path: string
  readonly #random: Random
  #pending: NameChange[] = []
  readonly #positions = new Map<File, Map<number, number | 'end'>>()
  #place = 0

  constructor(path: string, random: Random) {
    this.#path = path
    this.#random = random
  }

  apply(operation: Operation): void {
    this.#place += 1
    switch (operation.kind) {
      case 'open':
        this.#open(operation)
        break
      case 'write':
        this.#write(operation.path, operation.descriptor, operation.bytes, operation.offset)
        break
      case 'copy':
        this.#copy(operation)
        break
      case 'resize': {
        const file = this.#find(operation.path)
        if (file instanceof File) file.resize(this.#place, operation.size)
        break
      }
      case 'folder':
        this.#change([operation.path, new Folder()])
        break
      case 'symlink':
        this.#change([operation.path, { target: operation.target }])
        break
      case 'remove':
        this.#change([operation.path, undefined])
        break
      case 'rename':
        this.#change([operation.path, undefined], [operation.to, this.#known(operation.path)])
        break
      case 'link':
        this.#change([operation.to, this.#known(operation.path)])
        break
      case 'sync':
        this.#sync(operation)
    }
  }

  /** The view of every process. */
  tree(): Tree {
    return listed(
      this.#root,
      (folder) => folder.names,
      (file) => Buffer.from(file.content),
    )
  }

  /** A possible state after a power loss now. */
  lose(): Tree {
    const random = this.#random
    const how = random.weighted([
      [2, 'nothing'],
      [2, 'all'],
      [3, 'beginning'],
      [3, 'any'],
    ] as const)
    const until = random.between(0, this.#pending.length)
    const kept = closed(this.#pending, (_, index) => {
      if (how === 'beginning') return index < until
      return how === 'all' || (how === 'any' && random.chance(0.5))
    })
    const names = new Map<Folder, Map<string, Entry>>()
    const namesOf = (folder: Folder) => {
      const known = names.get(folder) ?? new Map(folder.durable)
      names.set(folder, known)
      return known
    }
    for (const change of kept) give(change, namesOf)
    return listed(this.#root, namesOf, (file) => file.lose(random))
  }

  #open({ path, descriptor, create, truncate, append }: Extract<Operation, { kind: 'open' }>): void {
    if (create && this.#find(path) === undefined) this.#change([path, new File()])
    const file = this.#find(path)
    if (!(file instanceof File)) return
    if (truncate && file.content.length > 0) file.resize(this.#place, 0)
    this.#positionsOf(file).set(descriptor, append ? 'end' : 0)
  }

  #write(path: string, descriptor: number, bytes: Buffer, offset: number | undefined): void {
    const file = this.#find(path)
    if (!(file instanceof File)) return
    const positions = this.#positionsOf(file)
    const position = positions.get(descriptor) ?? 0
    const at = offset ?? (position === 'end' ? file.content.length : position)
    file.write(this.#place, at, bytes)
    if (offset === undefined && position !== 'end') positions.set(descriptor, at + bytes.length)
  }

  #copy({ from, path, bytes, fromOffset = 0, offset = 0 }: Extract<Operation, { kind: 'copy' }>): void {
    const source = this.#find(from)
    const content = source instanceof File ? source.content : readFileSync(from)
    this.#write(path, -1, content.subarray(fromOffset, fromOffset + bytes), offset)
  }

  #positionsOf(file: File): Map<number, number | 'end'> {
    const known = this.#positions.get(file) ?? new Map<number, number | 'end'>()
    this.#positions.set(file, known)
    return known
  }

  #sync({ path, failed, begun }: Extract<Operation, { kind: 'sync' }>): void {
    const entry = this.#find(path)
    if (entry instanceof File) {
      if (failed) entry.fail(this.#random)
      else entry.sync(begun + 1)
    }
    if (!(entry instanceof Folder) || failed) return
    const done = closed(
      this.#pending,
      ({ place, effects }) => place <= begun && effects.some(({ folder }) => folder === entry),
    )
    for (const change of done) give(change, (folder) => folder.durable)
    this.#pending = this.#pending.filter((change) => !done.includes(change))
  }

  #change(...changes: readonly (readonly [path: string, entry: Entry | undefined])[]): void {
    const effects = changes.flatMap(([path, entry]) => {
      const folder = this.#find(dirname(path))
      return folder instanceof Folder ? [{ folder, name: basename(path), entry }] : []
    })
    const change = { place: this.#place, effects }
    give(change, (folder) => folder.names)
    this.#pending.push(change)
  }

  /** @throws {Error} if it was made before the record, or elsewhere */
  #known(path: string): Entry {
    const entry = this.#find(path)
    if (entry === undefined) throw new Error(`${path} is renamed or linked, but not on record`)
    return entry
  }

  #find(path: string): Entry | undefined {
    const inside = relative(this.#path, path)
    if (inside.startsWith('..')) return undefined
    let at: Entry | undefined = this.#root
    for (const name of inside.split('/').filter(Boolean))
      at = at instanceof Folder ? at.names.get(name) : undefined
    return at
  }
}

/** The operations that `isKept`, in order, and earlier ones with the same names. */
function closed(
  changes: readonly NameChange[],
  isKept: (change: NameChange, index: number) => boolean,
): NameChange[] {
  const needed = new Map<Folder, Set<string>>()
  return changes
    .map((change, index) => ({ change, kept: isKept(change, index) }))
    .reverse()
    .filter(({ change, kept }) => {
      const isNeeded = change.effects.some(({ folder, name }) => needed.get(folder)?.has(name))
      if (!kept && !isNeeded) return false
      for (const { folder, name } of change.effects) {
        const names = needed.get(folder) ?? new Set()
        needed.set(folder, names.add(name))
      }
      return true
    })
    .map(({ change }) => change)
    .reverse()
}

function give({ effects }: NameChange, namesOf: (folder: Folder) => Map<string, Entry>): void {
  for (const { folder, name, entry } of effects) {
    if (entry === undefined) namesOf(folder).delete(name)
    else namesOf(folder).set(name, entry)
  }
}

function listed(
  root: Folder,
  namesOf: (folder: Folder) => ReadonlyMap<string, Entry>,
  contentOf: (file: File) => Buffer,
): Tree {
  const tree = new Map<string, Buffer | Folder | Link>()
  const walk = (folder: Folder, path: string) => {
    for (const [name, entry] of namesOf(folder)) {
      const inside = path === '' ? name : `${path}/${name}`
      tree.set(inside, entry instanceof File ? contentOf(entry) : entry)
      if (entry instanceof Folder) walk(entry, inside)
    }
  }
  walk(root, '')
  return tree
}
