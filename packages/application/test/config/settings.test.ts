import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { ConfigError, checkSettings, overrideFromEnvironment, variableOf } from '../../src/config/settings.ts'

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

t.test('the environment overrides the file, as text or as JSON', async (t) => {
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
  const wrong = {
    name: 3,
    ratelimit: {},
    rateLimit: { max: -1 },
    origins: ['https://a.example/path', 'ftp://a.example'],
  }
  t.throws(() => checkSettings(wrong, schema, { path: ['modules', 'x'] }), ConfigError)
  try {
    checkSettings(wrong, schema, { path: ['modules', 'x'] })
  } catch (error) {
    const { message } = error as Error
    t.match(message, '"modules.x.name" must be a string')
    t.match(message, '"modules.x.ratelimit" is not a known setting: did you mean "rateLimit"?')
    t.match(message, '"modules.x.rateLimit.max" must be an integer of at least 0')
    t.match(message, '"modules.x.origins.0" must be an origin')
    t.match(message, '"modules.x.origins.1" must be an origin')
  }
})

/** What is said of a setting that is wrong. */
function messageOf(setting: TSchema, value: unknown): string {
  try {
    checkSettings({ key: value }, Type.Object({ key: setting }, { additionalProperties: false }))
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing'
}

t.test('the requirement of a setting is described once', async (t) => {
  for (const [setting, value, message] of [
    [Type.Unsafe({ type: 'string', enum: ['fatal', 'error'] }), 'loud', 'must be "fatal" or "error"'],
    [Type.Unsafe({ type: 'string', enum: ['fatal', 'error'] }), 3, 'must be "fatal" or "error"'],
    [Type.Union([Type.Literal('a'), Type.Literal('b')]), 'c', 'must be "a" or "b"'],
    [Type.Literal(0, { description: 'there is no other yet' }), 5, 'must be 0: there is no other yet'],
    [Type.String({ minLength: 1 }), '', 'must be a string of at least 1 character'],
    [Type.Array(Type.String(), { minItems: 1 }), [], 'must be an array of at least 1 item'],
    [Type.String({ minLength: 3 }), 'x', 'must be a string of at least 3 characters'],
    [Type.String({ pattern: '^x', description: 'an x' }), 'y', 'must match the pattern ^x (an x)'],
    [
      Type.String({ format: 'base-path' }),
      'api/',
      'must be empty, or begin with "/" and not end with it, such as "/api"',
    ],
    [Type.Integer({ minimum: 0, maximum: 65_535 }), 'abc', 'must be an integer from 0 to 65535'],
    [Type.Boolean(), 'yes', 'must be true or false'],
    [Type.Array(Type.String(), { examples: [['a']] }), 'a', 'must be an array, such as ["a"]'],
  ] as const) {
    t.equal(messageOf(setting, value), `"key" ${message}`)
  }
})

t.test('an unknown setting is reported with a suggestion', async (t) => {
  const schema = Type.Object(
    { basePath: Type.String(), name: Type.String() },
    { additionalProperties: false },
  )
  const unknown = (key: string) => () => checkSettings({ basePath: '', name: '', [key]: '' }, schema)
  t.throws(unknown('basepath'), { message: '"basepath" is not a known setting: did you mean "basePath"?' })
  t.throws(unknown('nmae'), { message: /did you mean "name"/ })
  t.throws(unknown('colour'), { message: '"colour" is not a known setting' })
})

t.test('an error names the variable or the file that has the wrong value', async (t) => {
  const settings = { rateLimit: { max: 1 }, name: 3 }
  const variables = overrideFromEnvironment(settings, schema, {
    APP_RATE_LIMIT_MAX: '-1',
    APP_ORIGINS: '["https://a.example/path"]',
  })
  t.throws(() => checkSettings(settings, schema, { file: 'app.config.json', variables }), {
    message: [
      'APP_RATE_LIMIT_MAX ("rateLimit.max") must be an integer of at least 0',
      'APP_ORIGINS ("origins.0") must be an origin such as https://shop.example, without a path',
      'app.config.json: "name" must be a string',
    ].join('; '),
  })
})
