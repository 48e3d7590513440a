import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { checkManifest, ManifestError } from '@mortise/application'
import { hostVersion, observe } from '@mortise/host'
import { manifestDiffers } from '@mortise/installer/failures'
import { parseJson, readText, writeDurably } from '@mortise/storage'
import type { Command } from '../terminal/command.ts'

type Manifest = Readonly<Record<string, unknown>>

interface Compared {
  /** The path of its package.json, relative to the working directory. */
  readonly file: string
  readonly differs: readonly string[]
}

export const command: Command = {
  options: [['--check', 'write nothing; fail if package.json differs from the code']],
  examples: ['app module-manifest', 'app module-manifest packages/api-cart --check'],

  async run({ arguments: paths, options, terminal }) {
    const isCheck = options.check === true
    const packages: Compared[] = []
    for (const path of paths.length > 0 ? paths : ['.'])
      packages.push(await writeManifest(resolve(path), isCheck))
    const wrong = packages.filter(({ differs }) => differs.length > 0)
    if (isCheck && wrong.length > 0) {
      const where = wrong.map(({ file, differs }) => `${file} (${differs.join(', ')})`).join('; ')
      throw manifestDiffers({ where })
    }
    const lines = packages.map(({ file, differs }) =>
      differs.length > 0 ? `${file}: wrote ${differs.join(', ')}` : `${file}: nothing to do`,
    )
    terminal.result({ packages }, lines.join('\n'))
  },
}

/** @param look how it learns what the code registers; by default in a child process */
export async function writeManifest(
  directory: string,
  isCheck = false,
  look: typeof observe = observe,
): Promise<Compared> {
  const file = join(directory, 'package.json')
  const json = parseJson(await readText(file), (reason) => new ManifestError(`${file} ${reason}`)) as Manifest
  const previous = (json.mortise ?? {}) as Manifest
  const manifest = await manifestOf(directory, String(json.name), previous, look)
  checkManifest(manifest, String(json.name))
  const keys = Object.keys({ ...previous, ...manifest })
  const differs = keys.filter((key) => !isDeepStrictEqual(previous[key], manifest[key]))
  if (!isCheck && differs.length > 0) {
    await writeDurably(file, `${JSON.stringify({ ...json, mortise: manifest }, null, 2)}\n`)
  }
  return { file: relative(process.cwd(), file), differs }
}

/**
 * Keeps the parts that only the author knows: the supported hosts, the version ranges of other
 * modules' contracts, and the hosts that it connects to.
 */
async function manifestOf(
  directory: string,
  name: string,
  previous: Manifest,
  look: typeof observe,
): Promise<Manifest> {
  const {
    host = `^${hostVersion}`,
    requires = {},
    optional = {},
    network = [],
    migrations = existsSync(join(directory, 'migrations')) ? 'migrations' : undefined,
  } = previous
  const code = await look({ id: name, directory }, Object.keys(requires as object))
  const { id, routes, events, provides, listensTo, operator, config = previous.config } = code
  const tables = migrations && (await prefixOf(join(directory, String(migrations)), previous.tables))
  const all = {
    tables,
    migrations,
    config,
    provides,
    requires,
    optional,
    network,
    events,
    listensTo,
    operator,
  }
  return {
    id,
    host,
    routes,
    ...Object.fromEntries(Object.entries(all).filter(([, value]) => !isEmpty(value))),
  }
}

const isEmpty = (value: unknown) =>
  value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0)

/** The common prefix of all tables that the migrations create; `previous` if that fits too. */
async function prefixOf(folder: string, previous: unknown): Promise<unknown> {
  const all = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new ManifestError(`the folder ${folder}, which "mortise.migrations" names, is missing`)
  })
  const files = all.filter((name) => name.endsWith('.sql'))
  const texts = await Promise.all(files.map((name) => readText(join(folder, name))))
  const names = texts.flatMap((text) =>
    Array.from(text.matchAll(/^\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gim), ([, table]) => String(table)),
  )
  const isPrefix = (prefix: string) => names.every((name) => `${name}_`.startsWith(`${prefix}_`))
  if (typeof previous === 'string' && isPrefix(previous)) return previous
  const parts = (names[0] ?? '').split('_')
  const prefixes = parts.map((_, index) => parts.slice(0, parts.length - index).join('_'))
  const prefix = prefixes.find(isPrefix)
  if (prefix !== undefined || names.length === 0) return prefix
  throw new ManifestError(
    `the tables ${names.join(', ')} in ${folder} have no common prefix: name them PREFIX and PREFIX_…`,
  )
}
