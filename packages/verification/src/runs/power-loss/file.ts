import type { Random } from '../../harness/random.ts'
import { Bytes } from './bytes.ts'

/** The sector size in bytes: a disk writes it completely or not at all. */
const SECTOR = 512
/** The page size of the kernel, in bytes. */
const PAGE = 4096

type Change = { readonly place: number } & (
  | { readonly offset: number; readonly bytes: Buffer }
  | { readonly size: number }
)

/** A file: its content for processes, its content on the disk, and the operations since the last sync. */
export class File {
  readonly #cached: Bytes
  readonly #durable: Bytes
  #pending: Change[] = []
  /** Pages that the kernel takes for written after a failed sync, although the disk differs. */
  readonly #forgotten = new Set<number>()

  /** @param content already on the disk */
  constructor(content?: Buffer) {
    this.#cached = new Bytes(content)
    this.#durable = new Bytes(content)
  }

  get content(): Buffer {
    return this.#cached.content
  }

  write(place: number, offset: number, bytes: Buffer): void {
    this.#cached.write(offset, bytes)
    let [from, to] = [offset, offset + bytes.length]
    // A rewritten page reaches the disk completely.
    for (const page of pagesOf(offset, bytes.length)) {
      if (!this.#forgotten.delete(page)) continue
      from = Math.min(from, page * PAGE)
      to = Math.max(to, Math.min((page + 1) * PAGE, this.#cached.size))
    }
    this.#pending.push({ place, offset: from, bytes: Buffer.from(this.content.subarray(from, to)) })
  }

  resize(place: number, size: number): void {
    this.#cached.resize(size)
    this.#pending.push({ place, size })
  }

  /** A sync of the operations before `begun` has succeeded. */
  sync(begun: number): void {
    for (const change of this.#pending.filter(({ place }) => place < begun)) apply(this.#durable, change)
    this.#pending = this.#pending.filter(({ place }) => place >= begun)
    if (this.#pending.length === 0) this.#durable.resize(this.#cached.size)
  }

  /** A sync has failed: each page was written or not, and none is written again. */
  fail(random: Random): void {
    const pages = new Set<number>()
    for (const change of this.#pending) {
      if ('size' in change) this.#durable.resize(change.size)
      else for (const page of pagesOf(change.offset, change.bytes.length)) pages.add(page)
    }
    for (const page of pages) {
      if (random.chance(0.7)) this.#forgotten.add(page)
      else this.#durable.write(page * PAGE, this.content.subarray(page * PAGE, (page + 1) * PAGE))
    }
    this.#pending = []
  }

  /** A possible content of the disk after a power loss now. */
  lose(random: Random): Buffer {
    if (this.#pending.length === 0) return this.#durable.content
    const disk = this.#durable.copy()
    const how = random.weighted([
      [2, 'nothing'],
      [2, 'all'],
      [3, 'beginning'],
      [4, 'sectors'],
    ] as const)
    if (how === 'nothing') return disk.content
    if (how === 'all') for (const change of this.#pending) apply(disk, change)
    if (how === 'beginning') {
      const whole = random.between(0, this.#pending.length)
      for (const change of this.#pending.slice(0, whole)) apply(disk, change)
      const torn = this.#pending[whole]
      if (torn && 'bytes' in torn) tear(disk, [torn], random)
    }
    if (how === 'sectors') tear(disk, this.#untilLostResize(random), random)
    if (how !== 'all') this.#drawSize(disk, random)
    return disk.content
  }

  /** The disk has nothing after a new size without that size. */
  #untilLostResize(random: Random): readonly Change[] {
    const lost = this.#pending.findIndex((change) => 'size' in change && random.chance(0.5))
    return lost === -1 ? this.#pending : this.#pending.slice(0, lost)
  }

  /** A larger size is on the disk with its data, without them, or not. */
  #drawSize(disk: Bytes, random: Random): void {
    if (this.#pending.some((change) => 'size' in change)) return
    const how = random.between(0, 3)
    if (how === 0) disk.resize(Math.max(disk.size, this.#cached.size))
    if (how === 1) disk.resize(this.#durable.size)
  }
}

function apply(bytes: Bytes, change: Change): void {
  if ('size' in change) bytes.resize(change.size)
  else bytes.write(change.offset, change.bytes)
}

/** Each sector has the effect of its first writes, up to any of them. */
function tear(disk: Bytes, changes: readonly Change[], random: Random): void {
  const likely = [0.1, 0.5, 0.9][random.between(0, 2)] as number
  const counts = new Map<number, number>()
  for (const change of changes) {
    if ('size' in change) continue
    for (const sector of sectorsOf(change)) counts.set(sector, (counts.get(sector) ?? 0) + 1)
  }
  const left = new Map<number, number>()
  for (const [sector, count] of counts) {
    left.set(sector, random.chance(likely) ? count : random.between(0, count - 1))
  }
  for (const change of changes) {
    if ('size' in change) {
      disk.resize(change.size)
      continue
    }
    for (const sector of sectorsOf(change)) {
      const more = left.get(sector) ?? 0
      if (more === 0) continue
      left.set(sector, more - 1)
      const from = Math.max(change.offset, sector * SECTOR)
      const to = Math.min(change.offset + change.bytes.length, (sector + 1) * SECTOR)
      disk.write(from, change.bytes.subarray(from - change.offset, to - change.offset))
    }
  }
}

function* sectorsOf({ offset, bytes }: { readonly offset: number; readonly bytes: Buffer }) {
  for (let sector = Math.floor(offset / SECTOR); sector * SECTOR < offset + bytes.length; sector++)
    yield sector
}

function* pagesOf(offset: number, length: number) {
  for (let page = Math.floor(offset / PAGE); page * PAGE < offset + length; page++) yield page
}
