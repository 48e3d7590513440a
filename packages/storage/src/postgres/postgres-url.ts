import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

/** The place of an application's tables, and the way to connect. */
export interface PostgresAddress {
  /** At least one. The writable one is the database. */
  readonly servers: readonly PostgresServer[]
  /** It holds all tables of the application, and should hold nothing else. */
  readonly schema: string
  /** The limit of connections of one host. */
  readonly connectionLimit: number
  /** How long it may take to connect, in milliseconds; undefined without a wish. */
  readonly connectTimeout: number | undefined
  /** Added to the name of each connection. */
  readonly applicationName: string | undefined
  /** Refuses a server that does not prove to be at the other end of the TLS connection. */
  readonly requiresChannelBinding: boolean
  /** A label without the password. */
  readonly name: string
}

export type PostgresServer = Pick<
  ClientConfig,
  'host' | 'port' | 'user' | 'password' | 'database' | 'ssl' | 'enableChannelBinding'
>

const PARAMETERS = [
  ...['schema', 'sslmode', 'sslrootcert', 'host', 'target_session_attrs', 'connection_limit'],
  ...['connect_timeout', 'application_name', 'channel_binding'],
]
const CHANNEL_BINDINGS = ['disable', 'prefer', 'require']
const CONNECTIONS = { default: 19, fewest: 5 }
const SSL_MODES = ['disable', 'require', 'verify-full']
const LOOPBACK = new Set(['', 'localhost', '127.0.0.1', '::1'])

const ENCODING =
  'In user, password and database write % as %25, @ as %40, : as %3A, / as %2F, ? as %3F, # as %23'

export const isPostgresUrl = (text: string) => /^postgres(ql)?:/i.test(text)

/**
 * Reads `postgres://user:password@host:5432/database?schema=shop&sslmode=verify-full`. All parts
 * but the protocol are optional and default to libpq's variables, such as PGPASSWORD. As in libpq,
 * there may be several hosts (`a:5432,b:5433`), and in `sslmode` `require` encrypts, `verify-full`
 * also checks the certificate, against `sslrootcert` if that names a file.
 *
 * @throws {TypeError} with the fault, to follow the setting's name; never with the URL itself,
 * which is secret
 */
export function parsePostgresUrl(text: string): PostgresAddress {
  const texts = urlsOf(text)
  if (!texts.every((each) => URL.canParse(each))) {
    throw new TypeError(`must be a URL such as postgres://user:password@host/database. ${ENCODING}`)
  }
  const urls = texts.map((each) => new URL(each))
  const [url] = urls as [URL]
  // Parts of a password with "/", "?" or "#" are elsewhere.
  if (url.hash !== '' || /@/.test(url.pathname + url.search) || /\/./.test(url.pathname.slice(1)))
    throw new TypeError(`has a character that ends the password or the name of the database. ${ENCODING}`)
  // Unlike in forms, "+" is no blank.
  const parameters = new Map(new URLSearchParams(url.search.replaceAll('+', '%2B')))
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`has the parameter "${unknown}", which is not one of ${PARAMETERS.join(', ')}`)
  }
  const schema = parameters.get('schema') ?? 'mortise'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith('pg_')) {
    throw new TypeError(`has the schema "${schema}": lower case letters, digits and "_", not "pg_…"`)
  }
  const wanted = parameters.get('target_session_attrs') ?? 'read-write'
  if (wanted !== 'read-write') {
    throw new TypeError(`has the target_session_attrs "${wanted}": only read-write is supported`)
  }
  const binding = parameters.get('channel_binding') ?? 'disable'
  if (!CHANNEL_BINDINGS.includes(binding)) {
    throw new TypeError(
      `has the channel_binding "${binding}", which is not one of ${CHANNEL_BINDINGS.join(', ')}`,
    )
  }
  const servers = urls.map((each) => serverOf(each, parameters, binding !== 'disable'))
  if (binding === 'require' && servers.some(({ ssl }) => ssl === false))
    throw new TypeError(
      'has channel_binding=require, which needs encryption: add sslmode=require or verify-full',
    )
  return {
    servers,
    schema,
    connectionLimit: connectionLimitOf(parameters.get('connection_limit')),
    connectTimeout: connectTimeoutOf(parameters.get('connect_timeout')),
    applicationName: parameters.get('application_name'),
    requiresChannelBinding: binding === 'require',
    name: `the schema "${schema}" of postgres://${urls.map(({ host }) => host).join()}${url.pathname}`,
  }
}

function connectionLimitOf(text: string | undefined): number {
  if (text === undefined) return CONNECTIONS.default
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) >= CONNECTIONS.fewest) return Number(text)
  throw new TypeError(`has the connection_limit "${text}": use a number from ${CONNECTIONS.fewest} to 9999`)
}

/** As in libpq, in seconds: 0 is no limit of the URL, and 1 is 2. */
function connectTimeoutOf(text: string | undefined): number | undefined {
  if (text === undefined || /^-?0+$/.test(text)) return undefined
  if (/^\d{1,4}$/.test(text)) return Math.max(2, Number(text)) * 1000
  throw new TypeError(`has the connect_timeout "${text}": use a number of seconds`)
}

/** @throws {TypeError} for a "%" that begins no escape, without the text, which may be a password */
function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new TypeError(`has a "%" in its ${what} that does not begin an escape such as %25. ${ENCODING}`)
  }
}

/** One URL for each host, since `URL` supports only one. */
function urlsOf(text: string): string[] {
  const parts = /^([^/?#]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text)
  if (parts === null) return [text]
  const [, before, hosts, after] = parts as string[] as [string, string, string, string]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}

function serverOf(url: URL, parameters: ReadonlyMap<string, string>, binds: boolean): PostgresServer {
  const host = parameters.get('host') ?? decoded(url.hostname.replace(/^\[|\]$/g, ''), 'host')
  const database = decoded(url.pathname.slice(1), 'database')
  return {
    ...(host && { host }),
    ...(url.port && { port: Number(url.port) }),
    ...(url.username && { user: decoded(url.username, 'user') }),
    ...(url.password && { password: decoded(url.password, 'password') }),
    ...(database && { database }),
    ...(binds && { enableChannelBinding: true }),
    ssl: tls(host, parameters.get('sslmode'), parameters.get('sslrootcert')),
  }
}

function tls(host: string, mode: string | undefined, rootCertificate: string | undefined) {
  const isNear = LOOPBACK.has(host) || host.startsWith('/')
  const wanted = mode ?? (rootCertificate ? 'verify-full' : isNear ? 'disable' : undefined)
  if (wanted === undefined) {
    throw new TypeError(
      `goes to another machine (${host}) without a choice of encryption: add ?sslmode=verify-full (or require, or disable)`,
    )
  }
  if (!SSL_MODES.includes(wanted)) {
    throw new TypeError(`has the sslmode "${wanted}", which is not one of ${SSL_MODES.join(', ')}`)
  }
  if (wanted === 'disable') return false
  if (wanted === 'require') return { rejectUnauthorized: false }
  return rootCertificate === undefined ? true : { ca: readCertificate(rootCertificate) }
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new TypeError(`names a certificate that cannot be read: ${(error as Error).message}`)
  }
}
