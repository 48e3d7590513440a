import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import type { OpenapiDocument } from '@mortise/host'
import { callUnlocked } from '@mortise/installer/changes'
import { fileExists, generatorMissing, noDocument } from '@mortise/installer/failures'
import { makeFolder, readOptionalText, writeDurably } from '@mortise/storage'
import type { Command } from '../terminal/command.ts'
import { fetchDocument, isUrl } from './client/fetch-document.ts'
import { assertOwnReferences } from './client/own-references.ts'

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

function inMemory() {
  let kept
  return { read: () => kept, write: (token) => { kept = token } }
}

export function createClient({ token, guest = inMemory(), ...options }) {
  const send = options.fetch ?? globalThis.fetch
  const url = (path) => \`\${options.baseUrl.replace(/\\/$/, '')}\${path}\`
  let claiming

  /** What was the guest's becomes the user's, once. */
  function claim(guestToken, authorization) {
    claiming ??= send(new Request(url('/guest/claim'), { method: 'POST', headers: { authorization, 'guest-token': guestToken } }))
      .then(({ ok, status }) => { if (ok || status === 404) guest.write(undefined) })
      .finally(() => { claiming = undefined })
    return claiming
  }

  async function credentials() {
    const user = typeof token === 'function' ? await token() : token
    const guestToken = guest.read()
    if (user === undefined) return guestToken === undefined ? {} : { 'guest-token': guestToken }
    const authorization = \`Bearer \${user}\`
    if (guestToken !== undefined) await claim(guestToken, authorization)
    return { authorization }
  }

  const client = createFetchClient(options)
  const { request } = client
  client.request = (method, path, init) =>
    request(method, path, forms.has(\`\${method.toUpperCase()} \${path}\`) ? { bodySerializer: toForm, ...init } : init)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    client[method] = (path, init) => client.request(method, path, init)
  }
  client.use({
    async onRequest({ request }) {
      for (const [name, value] of Object.entries(await credentials())) request.headers.set(name, value)
    },
    onResponse({ request, response }) {
      const issued = response.headers.get('guest-token')
      if (issued !== null) guest.write(issued)
      // Expired: the next write begins a new guest.
      else if (response.status === 401 && request.headers.has('guest-token')) guest.write(undefined)
    },
  })

  client.events = async function* ({ types = [], after, signal, path = '/event' } = {}) {
    const query = new URLSearchParams(types.length > 0 ? { types: types.join() } : {})
    let last = after
    for (let pause = 1_000; signal?.aborted !== true; pause = Math.min(pause * 2, 30_000)) {
      try {
        const headers = { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }), ...(await credentials()) }
        const response = await send(new Request(url(\`\${path}?\${query}\`), { headers, signal }))
        if (response.status >= 400 && response.status < 500 && response.status !== 429)
          throw Object.assign(new Error(\`the stream is refused: \${response.status}\`), { problem: await response.json() })
        if (response.ok) {
          let rest = ''
          for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
            const blocks = (rest + text).split('\\n\\n')
            rest = blocks.pop()
            for (const block of blocks) {
              const fields = Object.fromEntries(block.split('\\n').map((line) => line.split(/: ?(.*)/s)))
              if (fields.id !== undefined) last = fields.id
              if (fields.data !== undefined) yield JSON.parse(fields.data)
            }
            pause = 1_000
          }
        }
      } catch (error) {
        if (error.problem !== undefined) throw error
      }
      if (signal?.aborted !== true) await new Promise((resolve) => setTimeout(resolve, pause))
    }
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
  /**
   * Where the token of a guest is kept: in memory by default. The client sends it until there is a
   * JWT, and then claims what the guest has.
   */
  guest?: { read(): string | undefined; write(token: string | undefined): void }
}

/** What to follow. */
export interface EventOptions<Type extends keyof Events> {
  /** Only these types; all of them if absent. */
  types?: readonly Type[]
  /** The id of an event: those after it are sent too. \`start\`: from the oldest on. */
  after?: string
  signal?: AbortSignal
  /** The path of the stream: /event */
  path?: string
}

/** A client of the routes: see https://openapi-ts.dev/openapi-fetch */
export declare function createClient(options: Options): Client<paths, 'application/json' | 'application/problem+json'> & {
  /**
   * The caller's events as they happen. A stream that ends is continued after its last event.
   * @throws {Error} with the \`problem\`, if the host refuses the stream
   */
  events<Type extends keyof Events>(options?: EventOptions<Type>): AsyncGenerator<Events[Type]>
}

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
    const source =
      directory === undefined
        ? { of: address as string, hint: 'remote' as const }
        : { of: directory, hint: 'own' as const }
    const files = await filesOf(document, generator).catch((cause) => {
      throw noDocument({ ...source, reason: cause.message, cause })
    })
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

/** The text of each file. @throws {Error} if the document is none, or refers to others */
async function filesOf(document: OpenapiDocument, generator: Generator) {
  if (!document?.paths) throw new Error('the response is not an OpenAPI document')
  assertOwnReferences(document)
  const types = generator.astToString(await generator.default(JSON.stringify(document), blobs(generator)))
  return {
    'index.mjs': index(formsOf(document)),
    'index.d.mts': indexTypes,
    'api.d.mts': `${header}${types}`,
  }
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
      .filter(([, { requestBody }]) => requestBody?.content?.['multipart/form-data'])
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )

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
