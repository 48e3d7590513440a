import type { NpmOptions } from './npm-libraries.ts'
import { loadCacache, loadRegistryFetch } from './npm-libraries.ts'
import { longestResponse, readBody } from './read-body.ts'

/** The most bytes of a registry's JSON, decompressed: the largest public packages have 40 MB. */
const MOST_BYTES = 64 * 1024 * 1024

interface JsonRequest {
  readonly query?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly gzip?: boolean
  readonly body?: object
}

/**
 * Fetches a JSON document of a registry as npm would, and reads no further and no longer than a limit.
 * @param path in `npm.registry`, or a URL
 * @throws {Error} from npm's library, with `statusCode` for a refusal; if the document is larger, or late
 */
export async function fetchJson(path: string, npm: NpmOptions, request: JsonRequest = {}): Promise<unknown> {
  const key = `mortise:${JSON.stringify([path, npm.registry, request])}`
  const text = npm.offline === true ? await stored(key, npm) : undefined
  return JSON.parse(text ?? (await fetchText(path, npm, request, key)))
}

async function fetchText(path: string, npm: NpmOptions, request: JsonRequest, key: string): Promise<string> {
  const fetch = await loadRegistryFetch()
  const late = AbortSignal.timeout(longestResponse * (npm.timeout as number))
  const stop = new AbortController()
  const signals = [late, stop.signal, ...(npm.signal instanceof AbortSignal ? [npm.signal] : [])]
  const options = { ...npm, ...request, signal: AbortSignal.any(signals) }
  const isOffline = npm.offline === true
  try {
    const { body } = await fetch(path, (isOffline ? options : { ...options, ...uncached }) as never)
    const tooLarge = () => new Error(`the response has more than ${MOST_BYTES} bytes`)
    const limits = { most: MOST_BYTES, tooLarge, late }
    const text = String(await readBody(body as unknown as NodeJS.ReadableStream, limits))
    if (!isOffline) await store(key, text, npm)
    return text
  } catch (error) {
    throw late.aborted ? new Error('the response takes too long', { cause: error }) : error
  } finally {
    stop.abort()
  }
}

/** npm's library would hold in memory what arrives faster than its cache is written. */
const uncached = { cache: undefined, preferOnline: true }

/** For --offline. If the cache cannot be written, it stays empty. */
async function store(key: string, text: string, npm: NpmOptions): Promise<void> {
  if (typeof npm.cache !== 'string') return
  await (await loadCacache()).put(npm.cache, key, text).catch(() => undefined)
}

async function stored(key: string, npm: NpmOptions): Promise<string | undefined> {
  if (typeof npm.cache !== 'string') return undefined
  const found = await (await loadCacache()).get(npm.cache, key).catch(() => undefined)
  return found && String(found.data)
}
