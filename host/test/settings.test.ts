import { Type } from '@sinclair/typebox'
import t from 'tap'
import { ConfigError, checkSettings, overrideFromEnvironment, variableOf } from '../src/settings.ts'

const schema = Type.Object(
  {
    name: Type.String({ default: 'shop' }),
    rateLimit: Type.Object({ max: Type.Integer({ minimum: 0, default: 5 }) }, { default: {} }),
    origins: Type.Array(Type.String({ format: 'origin' }), { default: [] }),
  },
  { additionalProperties: false },
)

t.test('a variable is named by its path in upper snake case', async (t) => {
  t.equal(variableOf(['rateLimit', 'max']), 'APP_RATE_LIMIT_MAX')
  t.equal(variableOf(['modules', 'api-cart', 'maxLines']), 'APP_MODULES_API_CART_MAX_LINES')
})

t.test('the environment overrides the file, text as it is and the rest as JSON', async (t) => {
  const settings = { rateLimit: { max: 1 }, name: 'file' }
  const used = overrideFromEnvironment(settings, schema, {
    APP_NAME: '007',
    APP_RATE_LIMIT_MAX: '0',
    APP_ORIGINS: '["https://a.example"]',
    HOME: '/root',
  })
  t.same(settings, { name: '007', rateLimit: { max: 0 }, origins: ['https://a.example'] })
  t.same(used, ['APP_NAME', 'APP_RATE_LIMIT_MAX', 'APP_ORIGINS'])
})

t.test('defaults are filled in, at every depth', async (t) => {
  const settings = {}
  checkSettings(settings, schema)
  t.same(settings, { name: 'shop', rateLimit: { max: 5 }, origins: [] })
})

t.test('every wrong key is named, with what it must be', async (t) => {
  const wrong = { name: 3, ratelimit: {}, rateLimit: { max: -1 }, origins: ['https://a.example/path'] }
  t.throws(() => checkSettings(wrong, schema, 'modules.x.'), ConfigError)
  try {
    checkSettings(wrong, schema, 'modules.x.')
  } catch (error) {
    const { message } = error as Error
    t.match(message, '"modules.x.name" must be string')
    t.match(message, '"modules.x.ratelimit" is not a setting')
    t.match(message, '"modules.x.rateLimit.max" must be >= 0')
    t.match(message, '"modules.x.origins.0" must be an origin')
  }
})
