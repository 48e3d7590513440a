import { isKeyUrl, type RemoteIssuer } from '@mortise/application'
import { readAtMost, readJson } from '@mortise/module-sdk'
import type { JSONWebKeySet } from 'jose'

/** Bytes of a decompressed document: some hundred keys with their certificates. */
const DOCUMENT_SIZE = 256 * 1024

export interface KeySource {
  /** The URL requested first, for the log. */
  readonly url: string
  /** Reads the keys without a check of the result. Rejects with a message for the operator. */
  read(signal: AbortSignal): Promise<JSONWebKeySet>
}

/** Uses `jwksUri` or the issuer's metadata (OpenID Connect Discovery 1.0 §4), nothing else. */
export function keySource({ issuer, jwksUri }: Pick<RemoteIssuer, 'issuer' | 'jwksUri'>): KeySource {
  if (jwksUri !== undefined) return { url: jwksUri, read: (signal) => readDocument(jwksUri, signal) }
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  return {
    url,
    async read(signal) {
      const metadata = await readDocument<{ issuer?: unknown; jwks_uri?: unknown } | null>(url, signal)
      if (metadata?.issuer !== issuer) throw new Error(`${url} is not the metadata of the issuer "${issuer}"`)
      const found = metadata.jwks_uri
      // Only an issuer on loopback may redirect to loopback.
      if (typeof found !== 'string' || !isKeyUrl(found) || (isHttp(found) && !isHttp(issuer)))
        throw new Error(`${url} has no https jwks_uri`)
      return readDocument(found, signal)
    },
  }
}

const isHttp = (url: string) => new URL(url).protocol === 'http:'

async function readDocument<Document>(url: string, signal: AbortSignal): Promise<Document> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`${url} returned ${response.status}, not 200`)
  }
  const bytes = await readAtMost(response.body, DOCUMENT_SIZE).catch((cause) => {
    throw new Error(`${url}: ${cause.message}`, { cause })
  })
  try {
    return readJson(bytes) as Document
  } catch (cause) {
    throw new Error(`${url} is not JSON`, { cause })
  }
}
