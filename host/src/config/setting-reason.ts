import { isIPv4, isIPv6 } from 'node:net'
import type { ErrorObject } from 'ajv'
import { describeSchema } from './describe-schema.ts'
import { nearest } from './nearest.ts'
import { isKeyUrl } from './token-issuer.ts'

/** Whether it is an address, or one with as many bits as it may have. */
function isRange(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const longest = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1
  return Number(bits ?? 0) <= longest
}

/** The forms of strings that settings have. What is wrong with a `database` is told by who reads it. */
export const formats = {
  origin: {
    test: (text: string) => URL.canParse(text) && new URL(text).origin === text,
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
    test: /^[!#-[\]-~]+$/,
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
  database: { test: () => true, reason: '' },
  'no-blanks': {
    test: /^\S+$/,
    reason: 'must not be empty, and have no blanks',
  },
}

/** What is wrong with a setting, to stand after its name. The validator must be verbose. */
export function settingReason({ keyword, message, params, parentSchema = {} }: ErrorObject): string {
  switch (keyword) {
    case 'additionalProperties':
      return unknownReason(params.additionalProperty, Object.keys(parentSchema.properties ?? {}))
    case 'required':
      return 'is missing'
    case 'const': {
      const why = parentSchema.description
      return `must be ${JSON.stringify(params.allowedValue)}${why ? `: ${why}` : ''}`
    }
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`
    case 'format':
      return (
        formats[params.format as keyof typeof formats]?.reason ?? `must be ${describeSchema(parentSchema)}`
      )
    case 'pattern': {
      const meaning = parentSchema.description
      return `must match ${params.pattern}${meaning ? ` (${meaning})` : ''}`
    }
    case 'minLength':
    case 'minItems':
      return params.limit === 1 ? 'must not be empty' : `must be ${describeSchema(parentSchema)}`
    case 'type':
      return `must be ${typeInWords(parentSchema)}`
    case 'minimum':
    case 'maximum':
    case 'maxLength':
    case 'maxItems':
    case 'anyOf':
    case 'oneOf':
      return `must be ${describeSchema(parentSchema)}`
    default:
      return message ?? 'is wrong'
  }
}

function unknownReason(name: string, known: readonly string[]): string {
  const [best] = nearest(name, known)
  return `is not a setting: ${best ? `did you mean "${best}"?` : 'remove it or mend its spelling'}`
}

function typeInWords(schema: Record<string, unknown>): string {
  const { type, enum: values, examples } = schema
  if (Array.isArray(values)) return `one of ${values.join(', ')}`
  if (type === 'string') return 'a string'
  if (type !== 'array') return describeSchema(schema)
  const [example = ['…']] = Array.isArray(examples) ? examples : []
  return `a list, written as JSON: ${JSON.stringify(example)}`
}
