import type { ModuleInstance } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accessTokenFor, addressOf, type Begun, failed, newLogin } from './issuer-login.ts'
import { problem, responses } from './module.ts'
import { mayEnter, type Parts, signedIn } from './session-routes.ts'
import type { Settings } from './settings.ts'

/** Lax, not Strict: the browser comes back from the page of the issuer. */
const COOKIE = '__Host-console-login'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'

const CallbackQuery = Type.Object(
  {
    code: Type.Optional(Type.String({ maxLength: 4096 })),
    state: Type.Optional(Type.String({ maxLength: 256 })),
    error: Type.Optional(Type.String({ maxLength: 256 })),
  },
  // An issuer may add its own.
  { additionalProperties: true },
)

/** Sign-in at an issuer, where the setting `oidc` names one. */
export function loginRoutes(
  app: ModuleInstance,
  { sessions, operator }: Parts,
  { oidc }: Pick<Settings, 'oidc'>,
): void {
  const config = { access: 'public' } as const
  const redirect = (reply: FastifyReply, address: string) =>
    reply.code(302).headers({ location: address, 'cache-control': 'no-store' }).send(null)

  app.get(
    '/console/login',
    {
      config,
      schema: {
        hide: true,
        summary: 'Begin to sign in at the issuer',
        response: { 200: Type.Null(), 302: Type.Null(), ...responses('no-login', 'login-failed') },
      },
    },
    async (_request, reply) => {
      if (oidc === undefined) throw problem('no-login')
      const login = newLogin()
      const address = await addressOf(oidc, login)
      reply.header('set-cookie', `${COOKIE}=${login.state}.${login.verifier}; Max-Age=600; ${ATTRIBUTES}`)
      return redirect(reply, address.href)
    },
  )

  app.get(
    '/console/callback',
    {
      config,
      schema: {
        hide: true,
        summary: 'Sign in with what the issuer gave',
        querystring: CallbackQuery,
        response: {
          200: Type.Null(),
          302: Type.Null(),
          ...responses('no-login', 'login-failed', 'not-signed-in', 'insufficient-scope', 'invalid-request'),
        },
      },
    },
    async (request, reply) => {
      if (oidc === undefined) throw problem('no-login')
      const { code, state, error } = request.query
      const begun = begunBy(request)
      // A link of another site has no state of this browser.
      if (begun === undefined || begun.state !== state) throw failed('this browser did not begin to sign in')
      if (error !== undefined || code === undefined) throw failed('the issuer refused')
      const user = mayEnter(
        await signedIn(operator, await accessTokenFor(oidc, code, begun), 'not-signed-in'),
      )
      await sessions.begin(request, reply, user)
      reply.header('set-cookie', `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`)
      return redirect(reply, `${app.prefix}/console`)
    },
  )
}

function begunBy({ headers: { cookie = '' } }: FastifyRequest): Begun | undefined {
  const found = new RegExp(`(?:^|; *)${COOKIE}=([\\w-]{43})\\.([\\w-]{43})(?:;|$)`).exec(cookie)
  return found === null ? undefined : { state: found[1] as string, verifier: found[2] as string }
}
