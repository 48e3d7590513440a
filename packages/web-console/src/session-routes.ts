import {
  type Audit,
  currentTime,
  insufficientScope,
  type ModuleInstance,
  type Operator,
  type SignedIn,
  Strict,
  timestamp,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { assertFromPage } from './from-page.ts'
import { problem, responses } from './module.ts'
import type { Rights } from './rights.ts'
import { type Session, type Sessions, useLink } from './sessions.ts'

/** A link is valid for this long, in milliseconds. */
const LINK_LIFETIME = 60_000
/** A scope of a link: `sign-in:admin` becomes `admin` of the session. A request with it is 401. */
const OF_LINK = 'sign-in:'

const Credentials = Strict({
  token: Type.Optional(Type.String({ maxLength: 4096 })),
  link: Type.Optional(Type.String({ maxLength: 4096 })),
})

const SessionState = Type.Object(
  {
    subject: Type.String(),
    caller: Type.String(),
    scopes: Type.Array(Type.String()),
    canChange: Type.Boolean(),
    changes: Type.Union([Type.Literal('on'), Type.Literal('off')]),
    whyOff: Type.Optional(Type.String()),
    signedInAt: Type.String(),
    freshUntil: Type.String(),
    idleUntil: Type.String(),
    basePath: Type.String(),
    modules: Type.Array(Type.String()),
    name: Type.String(),
    version: Type.String(),
  },
  { title: 'ConsoleSession' },
)

export interface Parts {
  readonly sessions: Sessions
  readonly operator: Operator
  readonly rights: Rights
}

export function sessionRoutes(
  app: ModuleInstance,
  { sessions, operator, rights }: Parts,
  audit: Audit,
): void {
  const stateOf = async (session: Session) => {
    const overview = await operator.call(session.user, { method: 'GET', path: '/' })
    const { name, version, modules } = overview.json<{
      name: string
      version: string
      modules: { id: string; state: string }[]
    }>()
    const { user, signedInAt, freshUntil, idleUntil } = session
    return {
      subject: user.id.split(':').slice(2).join(':'),
      caller: user.id,
      scopes: [...user.scopes],
      ...rights.of(session),
      signedInAt: timestamp(signedInAt),
      freshUntil: timestamp(freshUntil),
      idleUntil: timestamp(idleUntil),
      basePath: app.prefix,
      modules: modules.flatMap(({ id, state }) => (state === 'active' ? [id] : [])),
      name,
      version,
    }
  }

  const config = { access: 'public' } as const

  app.get(
    '/console/session',
    {
      config,
      schema: {
        hide: true,
        summary: 'Who is signed in',
        response: { 200: SessionState, ...responses('not-signed-in') },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return await stateOf(await sessions.of(request))
    },
  )

  app.post(
    '/console/session',
    {
      config,
      schema: {
        hide: true,
        summary: 'Sign in',
        body: Credentials,
        response: {
          200: SessionState,
          ...responses('not-signed-in', 'link-not-valid', 'foreign-request', 'insufficient-scope'),
        },
      },
    },
    async (request, reply) => {
      assertFromPage(request)
      reply.header('cache-control', 'no-store')
      const { token, link } = request.body
      if (link !== undefined) {
        const user = userOfLink(await signedIn(operator, link, 'link-not-valid'))
        const once = { outlivesToken: true, before: () => useLink(user) }
        return await stateOf(await sessions.begin(request, reply, user, once))
      }
      const user = mayEnter(await signedIn(operator, token ?? '', 'not-signed-in'))
      return await stateOf(await sessions.begin(request, reply, user))
    },
  )

  app.delete(
    '/console/session',
    {
      config,
      schema: {
        hide: true,
        summary: 'Sign out',
        response: { 204: Type.Null(), ...responses('foreign-request') },
      },
    },
    async (request, reply) => {
      assertFromPage(request)
      await sessions.end(request, reply)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/console/session/all',
    {
      config,
      schema: {
        hide: true,
        summary: 'End all sessions of the console',
        response: {
          204: Type.Null(),
          ...responses('not-signed-in', 'foreign-request', 'insufficient-scope'),
        },
      },
    },
    async (request, reply) => {
      assertFromPage(request)
      const session = await sessions.of(request)
      rights.assertAdmin(session)
      await sessions.endAll(reply, session, audit)
      return reply.code(204).send(null)
    },
  )
}

/** @throws {Problem} `refusal`; 503 if the keys of the issuer are unavailable */
export async function signedIn(
  operator: Operator,
  token: string,
  refusal: 'not-signed-in' | 'link-not-valid',
): Promise<SignedIn> {
  try {
    return await operator.signIn(token)
  } catch (error) {
    if ((error as { status?: unknown }).status !== 401) throw error
    if (refusal === 'link-not-valid') throw problem(refusal)
    throw problem(refusal, `${(error as Error).message} Get one with "app token".`)
  }
}

/** @throws {Problem} `link-not-valid` */
function userOfLink({ scopes, issuedAt = 0, ...user }: SignedIn): SignedIn {
  const isOld = currentTime() >= Math.min(issuedAt + LINK_LIFETIME, user.expiresAt)
  if (isOld || scopes.length === 0 || scopes.some((scope) => !scope.startsWith(OF_LINK)))
    throw problem('link-not-valid')
  return mayEnter({ ...user, issuedAt, scopes: scopes.map((scope) => scope.slice(OF_LINK.length)) })
}

/** @throws {Problem} `insufficient-scope` */
export function mayEnter(user: SignedIn): SignedIn {
  if (user.scopes.includes('admin') || user.scopes.includes('operator:read')) return user
  throw insufficientScope('operator:read', 'use the console')
}
