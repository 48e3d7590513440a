import { hash } from 'node:crypto'
import type { Versioned } from '@mortise/module-sdk'

// A tag is `"<id>:<version>:<hash of the body>"`, without the first two for what has no version. All of it tells one
// body from another (If-None-Match); what a write replaces is told by id and version (If-Match). The hash is SHA-1: every
// GET pays for it, and it protects nothing.

/** Whether a body is one resource, rather than a list, say. */
export const isResource = (body: unknown): body is { id: unknown; version?: unknown } =>
  typeof body === 'object' && body !== null && 'id' in body

/** The strong entity tag of a resource that is sent as `text`. */
export function entityTag(body: { id: unknown; version?: unknown }, text: string): string {
  const version = Number.isInteger(body.version) ? prefixOf(body as Versioned) : ''
  return `"${version}${hash('sha1', text, 'base64url')}"`
}

/** Whether `If-None-Match` has the tag, by weak comparison (RFC 9110, 13.1.2). */
export function hasTag(header: string, tag: string): boolean {
  return header.trim() === '*' || tagsIn(header).some(({ opaque }) => opaque === tag.slice(1, -1))
}

/** Whether `If-Match` has the tag, by strong comparison (RFC 9110, 13.1.1). */
export function hasStrongTag(header: string, tag: string): boolean {
  return tagsIn(header).some(({ weak, opaque }) => !weak && tag === `"${opaque}"`)
}

/** Whether `If-Match` has a strong tag of this version of the resource (RFC 9110, 13.1.1). */
export function hasVersion(header: string, resource: Versioned): boolean {
  if (header.trim() === '*') return true
  const prefix = prefixOf(resource)
  return tagsIn(header).some(({ weak, opaque }) => !weak && opaque.startsWith(prefix))
}

/** The colon cannot be part of an encoded id. */
const prefixOf = ({ id, version }: Versioned) => `${encodeURIComponent(id ?? '')}:${version}:`

const tagsIn = (header: string) =>
  Array.from(header.matchAll(/(W\/)?"([^"]*)"/g), ([, weak, opaque = '']) => ({
    weak: weak !== undefined,
    opaque,
  }))
