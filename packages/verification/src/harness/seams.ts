import { registerHooks } from 'node:module'

/** The files of the code under test in which an export can be replaced, by package and path. */
interface Files {
  readonly 'api-cart/routes': typeof import('../../../api-cart/src/routes.ts')
  readonly 'api-cart/service': typeof import('../../../api-cart/src/service.ts')
  readonly 'api-cart/reservation': typeof import('../../../api-cart/src/reservation.ts')
  readonly 'api-cart/repository': typeof import('../../../api-cart/src/repository.ts')
  readonly 'api-product/catalog': typeof import('../../../api-product/src/catalog.ts')
  readonly 'api-product/repository': typeof import('../../../api-product/src/repository.ts')
  readonly 'api-purchase/repository': typeof import('../../../api-purchase/src/repository.ts')
  readonly 'api-purchase/service': typeof import('../../../api-purchase/src/service.ts')
  readonly 'host/callers/guests': typeof import('../../../../host/src/callers/guests.ts')
  readonly 'host/http/conditional-requests': typeof import('../../../../host/src/http/conditional-requests.ts')
  readonly 'host/modules/every-minute': typeof import('../../../../host/src/modules/every-minute.ts')
  readonly 'host/requests/idempotency-records': typeof import('../../../../host/src/requests/idempotency-records.ts')
  readonly 'host/requests/transaction': typeof import('../../../../host/src/requests/transaction.ts')
  readonly 'storage/postgres/drive': typeof import('../../../storage/src/postgres/drive.ts')
  readonly 'storage/sqlite/connection': typeof import('../../../storage/src/sqlite/connection.ts')
  readonly 'storage/sqlite/reads': typeof import('../../../storage/src/sqlite/reads.ts')
  readonly 'storage/sqlite/sqlite-storage': typeof import('../../../storage/src/sqlite/sqlite-storage.ts')
}

/** How the cart registers its routes. */
export type CartRoutes = Files['api-cart/routes']['cartRoutes']

/** How the host compares If-Match. */
export type Unchanged = Files['host/http/conditional-requests']['assertUnchanged']

/** An export of a file: `api-cart/routes.cartRoutes`. */
type Place<File extends keyof Files = keyof Files> = File extends keyof Files
  ? `${File}.${keyof Files[File] & string}`
  : never

/** By export: makes what takes its place, from the exports of the file. */
export type Seams = {
  readonly [At in Place]?: At extends `${infer File extends keyof Files}.${infer Name}`
    ? Name extends keyof Files[File]
      ? (original: Files[File]) => Files[File][Name]
      : never
    : never
}

/** The file that stands before the one with this URL. */
const PLANTED = '?planted'
let planted: Seams = {}

/**
 * Makes this process load the files of `seams` with other exports. An import of such a file gets
 * another one, which exports the same and the replacements.
 * @returns the files that have not been loaded yet
 */
export function plant(seams: Seams): () => string[] {
  planted = seams
  const waiting = new Set(Object.keys(seams).map((place) => place.slice(0, place.lastIndexOf('.'))))
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      const isOurs = context.parentURL?.endsWith(PLANTED) || resolved.url.endsWith(PLANTED)
      if (isOurs || fileOf(resolved.url) === undefined) return resolved
      return { ...resolved, url: resolved.url + PLANTED, shortCircuit: true }
    },
    load(url, context, nextLoad) {
      const file = url.endsWith(PLANTED) ? fileOf(url.slice(0, -PLANTED.length)) : undefined
      if (file === undefined) return nextLoad(url, context)
      waiting.delete(file)
      return { format: 'module', source: sourceOf(file, url.slice(0, -PLANTED.length)), shortCircuit: true }
    },
  })
  return () => [...waiting]
}

/** The planted file with this URL: of a package in this checkout, or with its version in a store. */
function fileOf(url: string): string | undefined {
  const [, name, path] = /\/(?:@mortise\+)?([a-z-]+)[^/]*\/dist\/(.+)\.js$/.exec(url) ?? []
  const file = `${name}/${path}`
  return namesIn(file).length > 0 ? file : undefined
}

/** The replaced exports of a file. */
const namesIn = (file: string) =>
  Object.keys(planted).flatMap((place) =>
    place.startsWith(`${file}.`) ? [place.slice(file.length + 1)] : [],
  )

const sourceOf = (file: string, url: string) => `
  import * as original from ${JSON.stringify(url)}
  import { replacement } from ${JSON.stringify(import.meta.url)}
  export * from ${JSON.stringify(url)}
  ${namesIn(file)
    .map((name) => `export const ${name} = replacement(original, '${file}', '${name}')`)
    .join('\n')}`

/**
 * What takes the place of an export.
 * @throws {Error} if the file has no such export, because the code has changed
 */
export function replacement(
  original: Readonly<Record<string, unknown>>,
  file: string,
  name: string,
): unknown {
  if (!(name in original)) throw new Error(`${file} has no export ${name} to replace`)
  const make = planted[`${file}.${name}` as Place] as (original: object) => unknown
  return make(original)
}
