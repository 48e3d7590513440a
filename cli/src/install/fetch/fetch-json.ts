import { readAtMost } from '@mortise/module-sdk'
import { loadRegistryFetch } from './npm-libraries.ts'
import type { NpmOptions } from './npm-options.ts'

/** The most bytes of a registry's JSON, decompressed: the largest public packages have 40 MB. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Fetches a JSON document of a registry as npm would, and reads no further than a limit.
 * @param path in `npm.registry`, or a URL
 * @throws {Error} from npm's library, with `statusCode` for a refusal; if the document is larger
 */
export async function fetchJson(
  path: string,
  npm: NpmOptions,
  options: { readonly query?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<unknown> {
  const fetch = await loadRegistryFetch()
  const { body } = await fetch(path, { ...npm, ...options } as never)
  return JSON.parse(String(await readAtMost(body as unknown as AsyncIterable<Uint8Array>, MOST_BYTES)))
}
