import type { Packument } from 'pacote'
import { fetchJson } from './fetch-json.ts'
import type { NpmOptions } from './npm-libraries.ts'

/** The most documents for one command. A registry can name a further dependency in each. */
const MOST_DOCUMENTS = 5000

const accept = {
  full: 'application/json',
  corgi: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*',
}

/**
 * The documents of packages, each fetched once, and no further than the limits of `fetchJson`. As its
 * `packumentCache`, npm's library asks it for each document. On its own, it reads a response of any size.
 */
class PackageDocuments {
  readonly #npm: NpmOptions
  readonly #documents = new Map<string, Promise<Packument>>()

  constructor(npm: NpmOptions) {
    this.#npm = npm
  }

  has(): boolean {
    return true
  }

  /** @param key `full:` or `corgi:`, and the address */
  async get(key: string): Promise<Packument> {
    const known = this.#documents.get(key)
    if (known !== undefined) return await known
    if (this.#documents.size >= MOST_DOCUMENTS)
      throw new Error(`it takes more than ${MOST_DOCUMENTS} packages of a registry`)
    const [, form, address] = /^(full|corgi):(.*)$/s.exec(key) as unknown as [
      string,
      keyof typeof accept,
      string,
    ]
    const document = this.#fetch(address, accept[form])
    this.#documents.set(key, document)
    return await document
  }

  /** Of npm's library, which fetches no document on its own. */
  set(): this {
    return this
  }

  delete(): boolean {
    return false
  }

  async #fetch(address: string, accepted: string): Promise<Packument> {
    const found = await fetchJson(address, this.#npm, { headers: { accept: accepted } })
    if (typeof found === 'object' && found !== null && 'versions' in found) return found as Packument
    throw new Error(`the response of ${address} describes no package`)
  }
}

/** Lets npm's library fetch the documents of packages through `PackageDocuments`, with these options. */
export const withDocuments = (npm: NpmOptions): NpmOptions => ({
  ...npm,
  packumentCache: new PackageDocuments(npm),
})
