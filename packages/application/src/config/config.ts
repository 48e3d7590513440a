import { join, resolve } from 'node:path'
import {
  type DatabaseAddress,
  isPostgresUrl,
  parseJson,
  parsePostgresUrl,
  readOptionalText,
} from '@mortise/storage'
import type { Static } from '@sinclair/typebox'
import { configSchema } from './config-schema.ts'
import { type PreviousSecret, parseSecrets, type Secrets } from './secrets.ts'
import {
  ConfigError,
  checkSettings,
  type Environment,
  overrideFromEnvironment,
  variableOf,
} from './settings.ts'
import { assertIssuers, type OwnIssuer, type TokenIssuer } from './token-issuer.ts'

// The only reader of app.config.json and of the environment.

/** app.config.json with its defaults, the overrides of the environment, and derived values. */
export interface Config extends Static<typeof configSchema> {
  /** The application folder, absolute. */
  readonly directory: string
  /** The SQLite file, absolute; undefined for PostgreSQL. */
  readonly databaseFile: string | undefined
  /** Signs and verifies the application's own JWTs; undefined if `app init` has made none. */
  readonly secret: Uint8Array | undefined
  /** Still verify tokens, until their time. APP_SECRET has none. */
  readonly previousSecrets: readonly PreviousSecret[]
  readonly environment: Environment
  /** Variables that begin with APP_ and are no settings: misspelled, or of another program. */
  readonly unknownVariables: readonly string[]
}

export const configFile = (directory: string) => join(directory, 'app.config.json')
export const secretFile = (directory: string) => join(directory, '.app', 'secret')

/** Read elsewhere: by `readSecret` below, and by the test suites. */
const otherVariables = ['APP_SECRET', 'APP_TEST_DATABASE_URL']

/** @throws {ConfigError} that names the wrong key */
export async function readConfig(directory: string, environment: Environment = process.env): Promise<Config> {
  const file = configFile(directory)
  const settings = parseObject((await readOptionalText(file)) ?? '{}', file)
  const used = overrideFromEnvironment(settings, configSchema, environment)
  checkSettings(settings, configSchema, { file, variables: used })
  const config = settings as Static<typeof configSchema>
  assertHostSettings(config, (path) => {
    const [key, variable] = [path.join('.'), variableOf(path)]
    return used.includes(variable) ? `${variable} ("${key}")` : `${file}: "${key}"`
  })
  const known = new Set([...used, ...otherVariables])
  return {
    ...config,
    directory,
    databaseFile: isPostgresUrl(config.database) ? undefined : resolve(directory, config.database),
    ...(await readSecrets(directory, environment)),
    environment,
    unknownVariables: Object.keys(environment).filter(
      (name) => name.startsWith('APP_') && !name.startsWith('APP_MODULES_') && !known.has(name),
    ),
  }
}

export function databaseAddress({
  database,
  databaseFile,
}: Pick<Config, 'database' | 'databaseFile'>): DatabaseAddress {
  return databaseFile === undefined ? { url: database } : { file: databaseFile }
}

/** A label of the database without its password. */
export const nameOfDatabase = ({ database, databaseFile }: Pick<Config, 'database' | 'databaseFile'>) =>
  databaseFile ?? nameOfDatabaseSetting(database)

/** A label of the setting "database" without its password. */
export function nameOfDatabaseSetting(database: string): string {
  if (!isPostgresUrl(database)) return database
  try {
    return parsePostgresUrl(database).name
  } catch {
    return 'an invalid PostgreSQL URL'
  }
}

/** Read before everything else; undefined if it is not set or the configuration is broken. */
export async function readEnvFileSetting(
  directory: string,
  { APP_ENV_FILE }: Environment = process.env,
): Promise<string | undefined> {
  if (APP_ENV_FILE) return APP_ENV_FILE
  const file = configFile(directory)
  try {
    const { envFile } = parseObject((await readOptionalText(file)) ?? '{}', file)
    return typeof envFile === 'string' && envFile !== '' ? envFile : undefined
  } catch {
    return undefined // the reader of the configuration reports it
  }
}

/** Where the secret is expected. */
export const nameOfSecret = ({ directory, environment }: Pick<Config, 'directory' | 'environment'>) =>
  environment.APP_SECRET === undefined ? secretFile(directory) : 'APP_SECRET'

/** The application as a token issuer, if `app init` has given it a name and a secret. */
export function ownIssuer({ auth, secret, previousSecrets }: OwnKeys): OwnIssuer | undefined {
  if (auth.issuer === undefined || secret === undefined) return undefined
  return { issuer: auth.issuer, secret, previousSecrets }
}

type OwnKeys = Pick<Config, 'auth' | 'secret'> & Partial<Pick<Config, 'previousSecrets'>>

export function tokenIssuers(config: OwnKeys): TokenIssuer[] {
  const own = ownIssuer(config)
  return own ? [own, ...config.auth.issuers] : config.auth.issuers
}

/** @throws {ConfigError} without the URL of the database, which may contain a password */
export function assertHostSettings(
  { database, auth }: Pick<Static<typeof configSchema>, 'database' | 'auth'>,
  nameOf = (path: readonly string[]) => `"${path.join('.')}"`,
): void {
  assertSetting(nameOf(['database']), () => {
    if (isPostgresUrl(database)) parsePostgresUrl(database)
    else if (/^[a-z]+:\/\//i.test(database))
      throw new TypeError('must be the path of a file, or begin with postgres://')
  })
  assertSetting(nameOf(['auth', 'issuers']), () => {
    const own = auth.issuer === undefined ? [] : [{ issuer: auth.issuer }]
    assertIssuers([...own, ...auth.issuers])
  })
}

function assertSetting(name: string, check: () => void): void {
  try {
    check()
  } catch (error) {
    throw new ConfigError(`${name} ${(error as Error).message}`)
  }
}

/** From APP_SECRET or `.app/secret`, at least 32 bytes, used as they are. @throws {ConfigError} */
export async function readSecrets(
  directory: string,
  environment: Environment,
): Promise<Secrets | { readonly secret: undefined; readonly previousSecrets: readonly [] }> {
  const { APP_SECRET } = environment
  const text = APP_SECRET ?? (await readOptionalText(secretFile(directory)))
  if (text === undefined) return { secret: undefined, previousSecrets: [] }
  const secrets =
    APP_SECRET === undefined ? parseSecrets(text) : { secret: Buffer.from(text), previousSecrets: [] }
  const { length } = secrets.secret
  if (length >= 32) return secrets
  const where = nameOfSecret({ directory, environment })
  if (length === 0) throw new ConfigError(`the secret in ${where} is empty: restore it, or remove ${where}`)
  throw new ConfigError(`the secret in ${where} has ${length} bytes, and needs 32: make it longer`)
}

function parseObject(text: string, file: string): Record<string, unknown> {
  const value = parseJson(text, (reason) => new ConfigError(`${file} ${reason}`))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new ConfigError(`${file} must hold a JSON object`)
}
