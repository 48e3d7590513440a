import { isIPv4, isIPv6 } from 'node:net'
import { isScope } from './scope.ts'
import { isKeyUrl } from './token-issuer.ts'

/** Whether it is an address, or a range with a valid number of bits. */
function isRange(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const longest = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1
  return Number(bits ?? 0) <= longest
}

/** The string formats of settings. The reader of `database` reports its errors. */
export const settingFormats = {
  origin: {
    test: (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text,
    reason: 'must be an origin such as https://shop.example, without a path',
  },
  'jwks-uri': {
    test: isKeyUrl,
    reason: 'must be an https URL (http only on loopback)',
  },
  claim: {
    test: /^([^/].*|(\/([^/~]|~[01])+)+)$/s,
    reason: 'must be the name of a claim, or a JSON Pointer such as /realm_access/roles',
  },
  scope: {
    test: isScope,
    reason: 'must be a scope such as purchase:read, without blanks',
  },
  collector: {
    test: (text: string) => {
      if (!URL.canParse(text)) return false
      const { protocol, username, password, search, hash } = new URL(text)
      return /^https?:$/.test(protocol) && username + password + search + hash === ''
    },
    reason: 'must be an http or https URL without user, query and fragment, such as http://127.0.0.1:4318',
  },
  cidr: {
    test: isRange,
    reason: 'must be an IP address or a CIDR range such as 10.0.0.0/8',
  },
  'base-path': {
    test: /^(\/[A-Za-z0-9._~-]+)*$/,
    reason: 'must be empty, or begin with "/" and not end with it, such as "/api"',
  },
  database: { test: () => true, reason: 'must be the path of a file, or begin with postgres://' },
  interval: {
    test: /^[1-9]\d{0,5}[mhdw]$/,
    reason: 'must be a number and m, h, d or w, such as 6h',
  },
  'no-blanks': {
    test: /^\S+$/,
    reason: 'must not be empty, and have no blanks',
  },
}

/** By name, as the validator takes them. */
export const formatTests = Object.fromEntries(
  Object.entries(settingFormats).map(([name, { test }]) => [name, test]),
)
