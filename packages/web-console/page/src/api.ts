import { signal } from '@preact/signals'
import { isLeftAlone } from './activity.ts'

// Not `new URL('..', import.meta.url)`: Vite takes that for the name of a file.
const script = import.meta.url
/** The path of the console with a slash at its end: `/console/`, after the base path of the application. */
export const base = new URL('..', script).pathname

export interface Session {
  readonly subject: string
  /** The id that purchases and events have as `owner`. */
  readonly caller: string
  readonly scopes: readonly string[]
  /** Whether this session may change what is installed. */
  readonly canChange: boolean
  readonly changes: 'on' | 'off'
  readonly whyOff?: string
  readonly signedInAt: string
  /** Until when the sign-in is recent enough for a change. */
  readonly freshUntil: string
  readonly idleUntil: string
  readonly basePath: string
  readonly modules: readonly string[]
  readonly name: string
  readonly version: string
}

/** Undefined until it is known, null if nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined)
/** Whether a session has ended without a sign-out. */
export const hasEnded = signal(false)

/** A failure of RFC 9457, or of the way to the host. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly hint: string | undefined
  readonly errors: readonly {
    readonly pointer?: string
    readonly parameter?: string
    readonly detail: string
  }[]
  readonly allowed: readonly string[] | undefined
  readonly requestId: string | undefined
  /** Of a command that failed. */
  readonly command: { readonly code: string; readonly exitCode: number } | undefined

  constructor(status: number, body: Partial<Omit<Problem, 'status'>>) {
    super(body.detail ?? body.title)
    this.status = status
    this.code = body.code ?? 'unknown'
    this.title = body.title ?? String(status)
    this.detail = body.detail ?? ''
    this.hint = body.hint
    this.errors = body.errors ?? []
    this.allowed = body.allowed
    this.requestId = body.requestId
    this.command = body.command
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly body?: unknown
  readonly ifMatch?: string
  readonly signal?: AbortSignal
}

export interface Response200<Body> {
  readonly body: Body
  readonly etag: string | null
}

/**
 * Sends a request to the console.
 * @param path from `/console/` on, without a slash at its beginning
 * @throws {Problem}
 */
export async function request<Body>(path: string, call: Call = {}): Promise<Response200<Body>> {
  const { method = 'GET', body, ifMatch, signal } = call
  const headers: Record<string, string> = { accept: 'application/json' }
  // What the page reads by itself does not keep the session alive.
  if (method !== 'GET' || isLeftAlone()) headers['x-console'] = method === 'GET' ? 'poll' : '1'
  if (method !== 'GET' && path.startsWith('api/')) headers['idempotency-key'] = crypto.randomUUID()
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (ifMatch !== undefined) headers['if-match'] = ifMatch
  let response: Response
  try {
    response = await fetch(base + path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem(0, { code: 'unreachable' })
  }
  const { status } = response
  const parsed = parse(await response.text())
  if (response.ok && (parsed !== undefined || isWithoutBody(status)))
    return { body: parsed as Body, etag: response.headers.get('etag') }
  // A proxy in between, or its page to sign in.
  if (response.ok || !isProblem(parsed)) throw new Problem(status, { code: 'not-from-host' })
  const problem = new Problem(status, parsed)
  if (status === 401 && path !== 'session' && session.value) {
    hasEnded.value = true
    endSession()
  }
  throw problem
}

const isWithoutBody = (status: number) => status === 202 || status === 204

const isProblem = (body: unknown): body is Partial<Problem> =>
  typeof (body as { readonly code?: unknown } | null | undefined)?.code === 'string'

/** All pages of the console in this browser have one session. */
const pages = new BroadcastChannel(`sessions of ${base}`)
pages.addEventListener('message', () => {
  if (session.value) {
    hasEnded.value = true
    session.value = null
  }
})

/** Shows nothing of the session any more, here and in the other pages of this browser. */
export function endSession(): void {
  session.value = null
  pages.postMessage('ended')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The body of a request to the console. */
export const get = async <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  (await request<Body>(path, signal ? { signal } : {})).body

/** `?a=1&b=2`, without what is undefined or empty. */
export function query(values: Readonly<Record<string, string | number | undefined | null>>): string {
  const found = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  if (found.length === 0) return ''
  return `?${new URLSearchParams(found.map(([name, value]) => [name, String(value)]))}`
}

/** Whether the session has one of the scopes; `admin` has all. */
export const may = (...scopes: readonly string[]): boolean =>
  session.value?.scopes.some((scope) => scope === 'admin' || scopes.includes(scope)) ?? false

/** Whether a module serves. */
export const has = (module: string): boolean => session.value?.modules.includes(module) ?? false

export async function readSession(): Promise<void> {
  try {
    const found = await get<Partial<Session> | null>('session')
    if (typeof found?.subject !== 'string') throw new Problem(200, { code: 'not-from-host' })
    session.value = found as Session
  } catch (error) {
    if (error instanceof Problem && error.status === 401) session.value = null
    else throw error
  }
}
