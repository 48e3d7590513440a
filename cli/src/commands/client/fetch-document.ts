import type { OpenapiDocument } from '@mortise/host'
import { noDocument } from '@mortise/installer/failures'
import { readAtMost } from '@mortise/module-sdk'
import { wrongUsage } from '../../failures/usage.ts'

/** The time limit for the document, redirects included, in milliseconds. */
const TIME_LIMIT = 10_000
/** Bytes of a decompressed document: that of all our modules has half a million. */
const MOST_BYTES = 16 * 1024 * 1024
const MOST_REDIRECTS = 5

export const isUrl = (text: string | undefined) => text !== undefined && /^https?:\/\//.test(text)

/**
 * The OpenAPI document of a server that need not be ours. It is not checked: see `assertOwnReferences`.
 * @param address the URL of an application, or of its document
 * @throws {Failure} `no-document`, `wrong-usage`
 */
export async function fetchDocument(address: string): Promise<OpenapiDocument> {
  const url = /\.json$/.test(address) ? address : `${address.replace(/\/$/, '')}/openapi.json`
  if (!isUrl(url) || !URL.canParse(url))
    throw wrongUsage({ problem: `${address} is not a URL: write http://127.0.0.1:3000` })
  const signal = AbortSignal.timeout(TIME_LIMIT)
  try {
    const response = await follow(new URL(url), signal)
    return JSON.parse(String(await readAtMost(response.body, MOST_BYTES)))
  } catch (error) {
    throw noDocument({ of: url, hint: 'remote', reason: reasonOf(error as Error, signal), cause: error })
  }
}

/** Follows redirects on the same host only: the user has named no other. */
async function follow(url: URL, signal: AbortSignal, redirects = 0): Promise<Response> {
  const response = await fetch(url.href, {
    signal,
    redirect: 'manual',
    headers: { accept: 'application/json' },
  })
  const { status, ok, body, headers } = response
  if (ok) return response
  await body?.cancel()
  const target = status < 400 ? URL.parse(headers.get('location') ?? '', url.href) : null
  if (target === null) throw new Error(`the response is ${status}`)
  const isSameHost = target.origin === url.origin || target.origin === `https://${url.hostname}`
  if (!isSameHost) throw new Error(`it redirects to another host, ${target.origin}: give that URL`)
  if (redirects === MOST_REDIRECTS) throw new Error(`it redirects more than ${MOST_REDIRECTS} times`)
  return follow(target, signal, redirects + 1)
}

function reasonOf(
  { message, cause }: Error & { readonly cause?: unknown },
  { aborted }: AbortSignal,
): string {
  if (aborted) return `it has not arrived within ${TIME_LIMIT / 1000} s`
  return (cause as Error | undefined)?.message || message
}
