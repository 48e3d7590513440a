import { defineModule, Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

const Pattern = (description: string) =>
  Type.Array(Type.String({ minLength: 1, examples: ['api-cart', 'GET /purchase', 'POST /purchase/{id}'] }), {
    default: [],
    description,
  })

export const Settings = Strict({
  include: Pattern(
    'modules and routes that become tools; empty: all but routes that need the scope admin, which must be named here',
  ),
  exclude: Pattern('modules and routes that become no tools'),
  readOnly: Type.Boolean({ default: false, description: 'whether only GET routes become tools' }),
  origins: Type.Array(Type.String({ pattern: '^https?://[^/]+$', examples: ['https://chat.example'] }), {
    default: [],
    description: 'web pages that may call /mcp from a browser; pages of this machine may always',
  }),
  authorizationServers: Type.Array(
    Type.String({ pattern: '^https?://', examples: ['https://login.example'] }),
    {
      default: [],
      description: 'the issuers at which a client gets a token (RFC 9728)',
    },
  ),
})
export type Settings = Static<typeof Settings>

export const { plugin, problem, responses } = defineModule('api-mcp', {
  settings: Settings,
  problems: {
    'foreign-origin': { status: 403, title: 'The request comes from another site' },
    'no-authorization-servers': {
      status: 404,
      title: 'No issuer is configured',
      detail: 'Ask the operator for a token, or to set authorizationServers of the module api-mcp.',
    },
  },
})
