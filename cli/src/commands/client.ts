import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { makeFolder, type OpenapiDocument, readOptionalText, writeDurably } from '@mortise/host'
import { callUnlocked } from '../changes/database-in-use.ts'
import { Failure, fileExists, generatorMissing, noDocument, wrongUsage } from '../failures/index.ts'
import type { Command } from '../terminal/command.ts'

/** The first line of each file: what begins with it may be overwritten. */
const header = '// Written by "app client" from the installed modules. Changes here are lost.\n'

const index = (forms: readonly string[]) => `${header}import createFetchClient from 'openapi-fetch'

/** The routes that take a form. */
const forms = new Set(${JSON.stringify(forms)})

function toForm(body) {
  if (body instanceof FormData) return body
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value !== undefined) form.append(name, value instanceof Blob ? value : String(value))
  }
  return form
}

export function createClient({ token, ...options }) {
  const client = createFetchClient(options)
  const { request } = client
  client.request = (method, path, init) =>
    request(method, path, forms.has(\`\${method.toUpperCase()} \${path}\`) ? { bodySerializer: toForm, ...init } : init)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    client[method] = (path, init) => client.request(method, path, init)
  }
  if (token !== undefined) {
    client.use({
      async onRequest({ request }) {
        const value = typeof token === 'function' ? await token() : token
        if (value !== undefined) request.headers.set('authorization', \`Bearer \${value}\`)
      },
    })
  }
  return client
}
`

const indexTypes = `${header}import type { Client, ClientOptions } from 'openapi-fetch'
import type { components, paths, webhooks } from './api.mjs'

export type { components, paths, webhooks }

export interface Options extends ClientOptions {
  /** The URL of the application: http://127.0.0.1:3000 */
  baseUrl: string
  /** A JWT for the header Authorization, or a function that returns the current one. */
  token?: string | (() => string | undefined | Promise<string | undefined>)
}

/** A client of the routes: see https://openapi-ts.dev/openapi-fetch */
export declare function createClient(options: Options): Client<paths, 'application/json' | 'application/problem+json'>

/** The events that the modules emit, by their type, as GET /event and webhooks send them. */
export type Events = {
  [Type in keyof webhooks]: webhooks[Type] extends {
    post: { requestBody: { content: { 'application/cloudevents+json': infer Event } } }
  }
    ? Event
    : never
}

/** An event. If it can have several types, its \`type\` distinguishes them. */
export type Event<Type extends keyof Events = keyof Events> = Events[Type]
`

export const command: Command = {
  examples: [
    'app client client',
    'app client ../shop-frontend/src/api',
    'app client src/api https://shop.example/api',
  ],

  async run({ arguments: [first, second], terminal, application }) {
    const [name = 'client', address] = isUrl(first) ? [second, first] : [first, second]
    const folder = resolve(name)
    const directory = address === undefined ? await application() : undefined
    const generator = loadGenerator([directory ?? process.cwd(), process.cwd()])
    const document =
      directory === undefined
        ? await fetchDocument(address as string)
        : await callUnlocked(directory, 'openapi')
    const types = generator.astToString(await generator.default(JSON.stringify(document), blobs(generator)))
    const files = {
      'index.mjs': index(formsOf(document)),
      'index.d.mts': indexTypes,
      'api.d.mts': `${header}${types}`,
    }
    for (const file of Object.keys(files)) await assertOurs(join(folder, file))
    await makeFolder(folder)
    for (const [file, text] of Object.entries(files)) await writeDurably(join(folder, file), text, 0o666)
    const { paths, webhooks = {} } = document
    const counts = { paths: Object.keys(paths).length, events: Object.keys(webhooks).length }
    terminal.result(
      { folder, files: Object.keys(files), ...counts },
      [
        `Wrote ${Object.keys(files).join(', ')} to ${folder}: ${counts.paths} paths, ${counts.events} event types`,
        'The client needs one package: npm install openapi-fetch',
        `Then: import { createClient } from './${relative(process.cwd(), join(folder, 'index.mjs'))}'`,
      ].join('\n'),
    )
  },
}

/** The type of binary strings. */
function blobs({ stringToAST }: Generator): Parameters<Generator['default']>[1] {
  const [{ type: blob } = {}] = stringToAST('type Binary = Blob') as { readonly type?: never }[]
  return { transform: ({ format }) => (format === 'binary' ? blob : undefined) }
}

/** As the client names them: `POST /picture`. */
const formsOf = ({ paths }: OpenapiDocument) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { requestBody }]) => requestBody?.content['multipart/form-data'])
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )

const isUrl = (text: string | undefined) => text !== undefined && /^https?:\/\//.test(text)

/** @param address the URL of an application, or of its document. @throws {Failure} */
async function fetchDocument(address: string): Promise<OpenapiDocument> {
  const url = /\.json$/.test(address) ? address : `${address.replace(/\/$/, '')}/openapi.json`
  const failed = (reason: string, cause?: unknown) => noDocument({ url, reason, cause })
  if (!isUrl(url) || !URL.canParse(url))
    throw wrongUsage({ problem: `${address} is not a URL: write http://127.0.0.1:3000` })
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw failed(`the response is ${response.status}`)
    const document = (await response.json()) as OpenapiDocument
    if (typeof document?.paths !== 'object') throw failed('the response is not an OpenAPI document')
    return document
  } catch (error) {
    if (error instanceof Failure) throw error
    const { message, cause } = error as Error & { readonly cause?: Error }
    throw failed(cause?.message || message, error)
  }
}

type Generator = typeof import('openapi-typescript')

/** It loads TypeScript, which the command does not have for itself. */
function loadGenerator(folders: readonly string[]): Generator {
  const load = createRequire(import.meta.url)
  try {
    return load(load.resolve('openapi-typescript', { paths: [...folders, import.meta.dirname] }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw generatorMissing()
  }
}

/** @throws {Failure} if the file exists and someone else wrote it */
async function assertOurs(file: string): Promise<void> {
  const text = await readOptionalText(file)
  if (text !== undefined && !text.startsWith(header)) throw fileExists({ file })
}
