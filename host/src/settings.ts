import type { TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject } from 'ajv'

/** Text by name, as process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that is wrong; the message names its key and says why. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** What is wrong, a clause for each; each begins with its key in quotes where there is one. */
  readonly wrong: readonly string[]

  constructor(message: string, wrong: readonly string[] = [message]) {
    super(message)
    this.wrong = wrong
  }
}

/**
 * Overrides settings from the environment, in place: `server.maxConnections` by APP_SERVER_MAX_CONNECTIONS.
 * Strings are taken as they are, everything else is JSON.
 *
 * @param path where `target` lies in app.config.json
 * @returns the variables that were used
 */
export function overrideFromEnvironment(
  target: Record<string, unknown>,
  schema: TSchema,
  environment: Environment,
  path: readonly string[] = [],
): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, TSchema>).flatMap(([key, property]) => {
    const own = [...path, key]
    if (property.properties) {
      const nested = { ...(target[key] as Record<string, unknown> | undefined) }
      const used = overrideFromEnvironment(nested, property, environment, own)
      if (used.length > 0) target[key] = nested
      return used
    }
    const variable = variableOf(own)
    const text = environment[variable]
    if (text === undefined) return []
    target[key] = property.type === 'string' ? text : parsed(text)
    return [variable]
  })
}

/** The environment variable that overrides the setting at `path`. */
export function variableOf(path: readonly string[]): string {
  const snake = path.map((part) => part.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replaceAll('-', '_'))
  return `APP_${snake.join('_')}`.toUpperCase()
}

/**
 * Checks settings against their JSON Schema and fills in its defaults, in place.
 * @param prefix what to put in front of a key in the message: `modules.api-cart.`
 * @throws {ConfigError} naming every key that is wrong
 */
export function checkSettings(target: Record<string, unknown>, schema: TSchema, prefix = ''): void {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false })
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, test)
  const validate = ajv.compile(schema)
  if (validate(target)) return
  const clauses = (validate.errors ?? []).map((error) => `"${prefix}${keyOf(error)}" ${reasonOf(error)}`)
  const wrong = [...new Set(clauses)]
  throw new ConfigError(wrong.join('; '), wrong)
}

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

const formats = {
  origin: {
    test: (text: string) => URL.canParse(text) && new URL(text).origin === text,
    reason: 'must be an origin such as https://shop.example, without a path',
  },
  'jwks-uri': {
    test: (text: string) => {
      if (!URL.canParse(text)) return false
      const { protocol, hostname } = new URL(text)
      return protocol === 'https:' || (protocol === 'http:' && loopback.has(hostname))
    },
    reason: 'must be an https URL (http only on loopback)',
  },
  cidr: {
    test: /^[0-9a-fA-F.:]+(\/\d{1,3})?$/,
    reason: 'must be an IP address or a CIDR range such as 10.0.0.0/8',
  },
}

function keyOf({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath.split('/').slice(1)
  if (keyword === 'additionalProperties') path.push(params.additionalProperty)
  if (keyword === 'required') path.push(params.missingProperty)
  return path.join('.')
}

function reasonOf({ keyword, message, params }: ErrorObject): string {
  if (keyword === 'additionalProperties') return 'is not a setting: remove it or mend its spelling'
  if (keyword === 'required') return 'is missing'
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`
  if (keyword === 'format')
    return formats[params.format as keyof typeof formats]?.reason ?? (message as string)
  return message ?? 'is wrong'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
