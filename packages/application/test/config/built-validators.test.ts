import { Manifest } from '@mortise/module-sdk/host'
import { Ajv, type Options } from 'ajv'
import addFormats from 'ajv-formats'
import t from 'tap'
import { builtValidator } from '../../dist/config/built-validators.js'
import { metaOptions, metaSchema } from '../../src/config/check-schema.ts'
import { configSchema } from '../../src/config/config-schema.ts'
import { dataOptions } from '../../src/config/first-error.ts'
import { Identity } from '../../src/config/identity.ts'
import { settingsOptions } from '../../src/config/settings.ts'
import { LockFile } from '../../src/modules/lock-file.ts'

const plain = (errors: unknown) => JSON.parse(JSON.stringify(errors ?? null))

const lock = { lockVersion: 1, generation: 1, host: null, modules: {} }
const manifest = { id: 'note', host: '^1.0.0', routes: ['GET /note'] }
const schemas: Record<string, [options: Options, schema: object, ...values: object[]]> = {
  configuration: [
    settingsOptions,
    configSchema,
    {},
    {
      name: 'shop',
      server: { port: 4000, trustProxy: ['10.0.0.0/8'] },
      auth: { issuer: 'https://a.example' },
    },
    {
      name: 1,
      server: { port: 70000, trustProxy: ['10.0.0.0/80'], what: 1 },
      basePath: 'api',
      cors: { origins: ['x'] },
    },
  ],
  manifest: [dataOptions, Manifest, manifest, { ...manifest, routes: ['/note'], more: 1 }, {}],
  'lock file': [dataOptions, LockFile, lock, { ...lock, modules: { note: {} } }, { generation: 'x' }],
  identity: [dataOptions, Identity, { database: null, secret: null }, { database: 1 }],
}

for (const [name, [options, schema, ...values]] of Object.entries(schemas)) {
  t.test(`the built validator of the ${name} says what a compiled one does`, async (t) => {
    const compiled = addFormats.default(new Ajv({ ...options })).compile(schema)
    const built = builtValidator(options, schema)
    if (built === undefined) return t.fail('it is not built')
    for (const value of values) {
      const [one, other] = [structuredClone(value), structuredClone(value)]
      t.equal(built(one), compiled(other))
      t.strictSame(plain(built.errors), plain(compiled.errors))
      t.strictSame(one, other, 'the same defaults')
    }
    t.equal(builtValidator({ ...options, allErrors: !options.allErrors }, schema), undefined)
    t.equal(builtValidator(options, { ...schema, title: 'another' }), undefined)
  })
}

t.test('the built validator of schemas says what a compiled one does', async (t) => {
  const ajv = new Ajv({ ...metaOptions })
  const built = builtValidator(metaOptions, metaSchema)
  if (built === undefined) return t.fail('it is not built')
  for (const schema of [
    {},
    { type: 'object', properties: { a: { minLength: -1 } } },
    { type: 'text', items: 1 },
  ]) {
    t.equal(built(schema), ajv.validateSchema(schema))
    t.strictSame(plain(built.errors), plain(ajv.errors))
  }
})
