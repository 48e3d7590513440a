import { Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

const IssuerSettings = Strict(
  {
    issuer: Type.String({
      pattern: '^https?://',
      description: 'as in auth.issuers, which says whose tokens are taken',
    }),
    clientId: Type.String({ minLength: 1, description: 'what the issuer calls the console' }),
    clientSecret: Type.Optional(
      Type.String({
        minLength: 1,
        writeOnly: true,
        description: 'without it the console is a public client',
      }),
    ),
    redirectUri: Type.String({
      pattern: '^https?://[^?#]+/console/callback$',
      description: 'the URL of /console/callback, as the issuer knows it',
    }),
    scope: Type.Optional(Type.String({ description: 'what the console asks the issuer for (openid)' })),
  },
  { description: 'the issuer at which people sign in; without it: with a token or a link' },
)
export type IssuerSettings = Static<typeof IssuerSettings>

export const Settings = Strict({
  changes: Type.Optional(
    Type.Boolean({
      description:
        'whether the page may run commands that change the application; without it: if the host listens on loopback or publicUrl is https',
    }),
  ),
  idleMinutes: Type.Integer({
    minimum: 1,
    maximum: 1440,
    default: 30,
    description: 'minutes without a request of the user after which a session ends',
  }),
  sessionHours: Type.Integer({
    minimum: 1,
    maximum: 168,
    default: 12,
    description: 'hours after which a session ends, however busy',
  }),
  oidc: Type.Optional(IssuerSettings),
})
export type Settings = Static<typeof Settings>
