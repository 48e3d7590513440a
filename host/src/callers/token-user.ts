import type { RemoteIssuer } from '@mortise/application'
import { isScope } from '@mortise/application'
import type { JWTPayload } from 'jose'
import { invalidToken } from './bearer.ts'
import { isSubject, subjectRule } from './subject.ts'
import { User } from './user.ts'

type ClaimsRule = Pick<RemoteIssuer, 'issuer' | 'claims' | 'scopes'>

/** Scopes are in `scope`, else in `scp`, unless the issuer's rule names another claim. */
export function userOf(
  claims: JWTPayload,
  { issuer, claims: place = {}, scopes }: ClaimsRule,
  proof: string,
): User {
  const subject = place.subject === undefined ? claims.sub : claimAt(claims, place.subject)
  if (!isSubject(subject)) {
    const name = place.subject === undefined ? 'claim sub' : 'subject'
    throw invalidToken(`its ${name} must have ${subjectRule}`)
  }
  const { scope = claims.scp } = claims
  const values = valuesOf(place.scope === undefined ? scope : claimAt(claims, place.scope))
  const own = scopes && new Map(Object.entries(scopes))
  if (own)
    return new User(
      issuer,
      subject,
      values.flatMap((value) => own.get(value) ?? []),
      proof,
    )
  if (!values.every(isScope)) throw invalidToken('its claim scope has a value that is not a scope')
  return new User(issuer, subject, values, proof)
}

/**
 * One space-separated string (RFC 8693 §4.2), or a list as some issuers send. A value of a list stays
 * one value, whatever it contains.
 */
function valuesOf(claim: unknown): readonly string[] {
  if (claim === undefined) return []
  if (typeof claim === 'string') return claim.split(' ').filter(Boolean)
  if (Array.isArray(claim) && claim.every((value) => typeof value === 'string')) return claim
  throw invalidToken('its claim scope must be a string or a list of strings')
}

/** The claim with that name, or the value at a JSON Pointer. */
function claimAt(claims: JWTPayload, place: string): unknown {
  if (!place.startsWith('/')) return own(claims, place)
  const path = place.slice(1).split('/')
  return path
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, part) => own(value, part), claims)
}

function own(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null
  return isObject && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}
