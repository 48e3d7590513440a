import type { HeapProfiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { type Found, visitProfile } from './module-places.ts'

// The heap of the main thread, watched from another one. V8 ends a process whose heap is full, and says
// nothing of who filled it. Under pressure V8 samples what is allocated and still in use, with the stack
// of each sample. Nobody is blamed for garbage, or for what others hold.

/** The part of the limit in use from which on allocations are sampled. */
const SAMPLED = 0.4
/** The part of the limit in use that is too much. */
const FULL = 0.75
/** The part of the limit that the module to blame holds at least, of what was sampled. */
const BLAMED = 0.2
/** One sample for so many bytes. */
const SAMPLE = 256 * 1024
/**
 * Checks rest for so long after one that blamed nobody, in milliseconds, since it collects all garbage:
 * unless a further part of the limit comes into use.
 */
const REST = 10_000
const FURTHER = 0.04

const everything = {
  samplingInterval: SAMPLE,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
}

/** What a module holds of the heap. */
interface Held {
  readonly found: Found
  bytes: number
  /** Of its largest line, whose location is in `found`. */
  readonly most: number
}

export class HeapWatch {
  readonly #limit: number
  readonly #foldersOf: () => Promise<ReadonlyMap<string, string>>
  readonly #onFull: (found: Found, reason: string) => Promise<void>
  #session: Session | undefined
  /** Of `allocations`. */
  #measuring: Session | undefined
  #checking: Promise<void> | undefined
  #rest = { until: 0, below: 0 }

  /**
   * @param limit the largest heap, in bytes; 0: nothing is watched
   * @param onFull called with the module that fills the heap, and a sentence
   */
  constructor(
    limit: number,
    foldersOf: () => Promise<ReadonlyMap<string, string>>,
    onFull: (found: Found, reason: string) => Promise<void>,
  ) {
    this.#limit = limit || Number.POSITIVE_INFINITY
    this.#foldersOf = foldersOf
    this.#onFull = onFull
  }

  /** @param used bytes, about */
  check(used: number): void {
    if (this.#checking !== undefined) return
    if (performance.now() < this.#rest.until && used < this.#rest.below) return
    if (this.#session === undefined && used < SAMPLED * this.#limit) return
    this.#checking = this.#check(used)
      .catch(() => this.#end())
      .finally(() => {
        this.#checking = undefined
      })
  }

  /**
   * What is allocated while `work` lasts, garbage included; undefined under pressure, since V8 has one
   * profile of allocations at a time.
   */
  async allocations(work: () => Promise<void>): Promise<HeapProfiler.SamplingHeapProfileNode | undefined> {
    if (this.#session !== undefined) {
      await work()
      return undefined
    }
    const session = connect()
    this.#measuring = session
    await session.post('HeapProfiler.startSampling', everything)
    await work()
    if (this.#measuring !== session) return undefined
    const { profile } = await session.post('HeapProfiler.stopSampling')
    this.#endMeasurement()
    return profile.head
  }

  async #check(used: number): Promise<void> {
    if (used < SAMPLED * this.#limit) return this.#end()
    this.#session ??= await this.#begin()
    if (used < FULL * this.#limit) return
    const held = await this.#heldIn(this.#session)
    if (held === undefined) {
      this.#rest = { until: performance.now() + REST, below: used + FURTHER * this.#limit }
      return
    }
    const { found, bytes } = held
    const reason = `${found.module} fills the memory: it holds ${inMegabytes(bytes)} of ${inMegabytes(this.#limit)}, most of it from ${found.at}`
    await this.#onFull(found, reason)
  }

  /** By the module that holds most; undefined if there is room without garbage, or nobody holds much. */
  async #heldIn(session: Session): Promise<Held | undefined> {
    const folders = await this.#foldersOf()
    await session.post('HeapProfiler.collectGarbage')
    // @types/node has no result for it.
    const { usedSize } = (await session.post('Runtime.getHeapUsage')) as unknown as { usedSize: number }
    if (usedSize < FULL * this.#limit) return undefined
    const { profile } = await session.post('HeapProfiler.getSamplingProfile')
    const held = new Map<string, Held>()
    visitProfile(profile.head, folders, (selfSize, found) => {
      if (found === undefined || selfSize === 0) return
      const { bytes, ...before } = held.get(found.folder) ?? { found, bytes: 0, most: 0 }
      const largest = selfSize > before.most ? { found, most: selfSize } : before
      held.set(found.folder, { ...largest, bytes: bytes + selfSize })
    })
    const [most] = [...held.values()].sort((one, other) => other.bytes - one.bytes)
    return most !== undefined && most.bytes >= BLAMED * this.#limit ? most : undefined
  }

  async #begin(): Promise<Session> {
    this.#endMeasurement()
    const session = connect()
    await session.post('HeapProfiler.startSampling', { samplingInterval: SAMPLE })
    return session
  }

  #endMeasurement(): void {
    this.#measuring?.disconnect()
    this.#measuring = undefined
  }

  #end(): void {
    this.#session?.post('HeapProfiler.stopSampling').catch(() => {})
    this.#session?.disconnect()
    this.#session = undefined
  }
}

function connect(): Session {
  const session = new Session()
  session.connectToMainThread()
  return session
}

const inMegabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`
