import { accessSync, constants } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readOptionalText } from '@mortise/storage'
import { noRegistryFolder } from '../../failures/index.ts'
import { npmCacheOf } from '../../store/staging.ts'
import { serveDirectories } from './local-registry.ts'
import { loadRegistryFetch, type NpmOptions } from './npm-libraries.ts'
import { withDocuments } from './package-documents.ts'

const registryKey = /^(@[^:]+:)?registry$/
const plain = /^(registry|@[^:]+:registry|\/\/.+:(_authToken|_auth|username|_password|certfile|keyfile))$/
const renamed: Readonly<Record<string, string>> = {
  cache: 'cache',
  noproxy: 'noProxy',
  proxy: 'proxy',
  'https-proxy': 'httpsProxy',
  'strict-ssl': 'strictSSL',
}
const numbers: Readonly<Record<string, string>> = {
  'fetch-retries': 'fetchRetries',
  'fetch-retry-factor': 'fetchRetryFactor',
  'fetch-retry-mintimeout': 'fetchRetryMintimeout',
  'fetch-retry-maxtimeout': 'fetchRetryMaxtimeout',
  'fetch-timeout': 'timeout',
}

/**
 * The number of retries and their delays in milliseconds. npm's library reads a missing option as
 * NaN. The delays are shorter than npm's 10 s and 60 s, because a person waits.
 */
const retries = {
  fetchRetries: 2,
  fetchRetryFactor: 10,
  fetchRetryMintimeout: 500,
  fetchRetryMaxtimeout: 2000,
}

/**
 * The registries with credentials, proxies and certificates, from npm's sources: the user's .npmrc,
 * the application's .npmrc, then npm_config_… variables. It uses no other npm configuration. A
 * registry may be a directory of tarballs: `file:` and a path relative to the application folder.
 * @param offline no network: only directories and npm's cache
 */
export async function npmOptions(
  directory: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  offline = false,
): Promise<NpmOptions> {
  const userFile = environment.npm_config_userconfig ?? join(homedir(), '.npmrc')
  const settings = new Map<string, string>()
  for (const file of [userFile, join(directory, '.npmrc')]) {
    for (const [key, value] of parse((await readOptionalText(file)) ?? '', environment))
      settings.set(key, value)
  }
  for (const [name, value] of Object.entries(environment)) {
    const key = /^npm_config_(.+)$/i.exec(name)?.[1]
    if (!key || !value) continue
    settings.set(/^(@|\/\/)/.test(key) ? key : key.toLowerCase().replaceAll('_', '-'), value)
  }
  const options: NpmOptions = {
    registry: (await loadRegistryFetch()).pickRegistry('npm'),
    ...retries,
    timeout: 60_000,
    ignoreScripts: true,
    allowGit: 'none',
    allowRemote: 'none',
  }
  for (const [key, value] of settings) {
    if (plain.test(key)) options[key] = value
    const number = numbers[key]
    if (number && /^\d{1,9}$/.test(value)) options[number] = Number(value)
    const name = renamed[key]
    if (name) options[name] = name === 'strictSSL' ? value !== 'false' : value
  }
  const { fetchRetryMintimeout: least, fetchRetryMaxtimeout: most } = options as unknown as typeof retries
  options.fetchRetryMaxtimeout = Math.max(least, most)
  const cache = typeof options.cache === 'string' ? options.cache : join(homedir(), '.npm')
  options.cache = join(offline || isWritable(cache) ? cache : npmCacheOf(directory), '_cacache')
  const cafile = settings.get('cafile')
  if (cafile) options.ca = await readFile(cafile, 'utf8')
  return withDocuments(await withDirectories(options, directory, offline))
}

async function withDirectories(
  options: NpmOptions,
  directory: string,
  offline: boolean,
): Promise<NpmOptions> {
  const keys = Object.keys(options).filter((key) => registryKey.test(key))
  const local = keys.filter((key) => String(options[key]).startsWith('file:'))
  if (local.length === 0) return offline ? { ...options, offline } : options
  const folders = local.map((key) => resolve(directory, String(options[key]).slice('file:'.length)))
  for (const folder of folders) {
    if ((await stat(folder).catch(() => undefined))?.isDirectory()) continue
    throw noRegistryFolder({ folder })
  }
  // Offline, all other registries are empty, and their requests stay on this machine.
  const addresses = await serveDirectories(folders)
  const nothing = `${new URL(addresses[0] as string).origin}/none/`
  const elsewhere = offline ? keys.filter((key) => !local.includes(key)).map((key) => [key, nothing]) : []
  const noProxy = [options.noProxy, '127.0.0.1'].filter(Boolean).join(',')
  const here = local.map((key, index) => [key, addresses[index]])
  return { ...options, ...Object.fromEntries([...elsewhere, ...here]), noProxy }
}

/** Whether a folder is writable, or can be created. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isMissing && dirname(folder) !== folder && isWritable(dirname(folder))
  }
}

function parse(text: string, environment: Readonly<Record<string, string | undefined>>): [string, string][] {
  return text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const match = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line)
    if (!match) return []
    const value = (match[2] as string).replace(/^(["'])(.*)\1$/, '$2')
    const filled = value.replace(/\$\{([^}]+)\}/g, (whole, name: string) => environment[name] ?? whole)
    return [[match[1] as string, filled]]
  })
}
