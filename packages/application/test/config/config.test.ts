import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import {
  configFile,
  databaseAddress,
  ownIssuer,
  readConfig,
  secretFile,
  tokenIssuers,
} from '../../src/config/config.ts'
import { moduleSettings } from '../../src/config/module-settings.ts'
import { ConfigError } from '../../src/config/settings.ts'
import { applicationFolder, temporaryFolder } from '../application-folder.ts'

t.test('an empty folder has all defaults', async (t) => {
  const folder = await temporaryFolder(t)
  const config = await readConfig(folder, {})
  t.match(config, { basePath: '', server: { host: '127.0.0.1', port: 3000, maxConnections: 2000 } })
  t.equal(config.databaseFile, join(folder, 'data', 'app.db'))
  t.equal(config.secret, undefined)
  t.equal(ownIssuer(config), undefined)
})

t.test('a wrong setting is named with its file and its variable', async (t) => {
  const folder = await applicationFolder(t, { basePath: 'api/' })
  await t.rejects(readConfig(folder, {}), { name: 'ConfigError', message: /app\.config\.json: "basePath"/ })
  await t.rejects(readConfig(folder, { APP_SERVER_PORT: '99999' }), {
    message:
      /^APP_SERVER_PORT \("server\.port"\) must be an integer from 0 to 65535; .*app\.config\.json: "basePath"/,
  })
  await t.rejects(readConfig(await temporaryFolder(t), { APP_CORS_ORIGINS: 'https://a.example' }), {
    message: 'APP_CORS_ORIGINS ("cors.origins") must be an array, such as ["https://shop.example"]',
  })
})

t.test('issuers that no schema finds wrong are named like any other setting', async (t) => {
  const folder = await applicationFolder(t)
  const remote = { issuer: 'https://a.example/', audience: 'shop' }
  const read = (...issuers: object[]) => readConfig(folder, { APP_AUTH_ISSUERS: JSON.stringify(issuers) })
  const config = await read(remote, { ...remote, issuer: 'urn:b', jwksUri: 'https://b.example/keys' })
  t.same(
    config.auth.issuers.map(({ algorithms }) => algorithms),
    [['RS256'], ['RS256']],
  )
  const wrong: [object[], RegExp][] = [
    [
      [remote, remote],
      /^APP_AUTH_ISSUERS \("auth.issuers"\) must have each issuer once: "https:\/\/a.example\/" is/,
    ],
    [[{ ...remote, issuer: 'test' }], /"test" is configured twice/],
    [[{ ...remote, issuer: 'urn:b' }], /"urn:b" needs a "jwksUri"/],
    [[{ ...remote, claims: { scope: 'roles' } }], /needs "scopes"/],
    [
      [{ ...remote, claims: { scope: '/a//b' } }],
      /"auth.issuers.0.claims.scope"\) must be the name of a claim/,
    ],
    [[{ ...remote, claims: { scope: '/a~2' } }], /must be the name of a claim, or a JSON Pointer/],
    [[{ ...remote, claims: { roles: 'x' } }], /"auth.issuers.0.claims.roles"\) is not a known setting/],
    [[{ ...remote, scopes: { staff: 'admin' } }], /"auth.issuers.0.scopes.staff"\) must be an array/],
    [[{ ...remote, scopes: { staff: ['a b'] } }], /"auth.issuers.0.scopes.staff.0"\) must be a scope/],
    [[{ ...remote, algorithms: ['HS256'] }], /must be "RS256", "PS256", "ES256" or "EdDSA"/],
    [[{ ...remote, typ: '' }], /"auth.issuers.0.typ"\) must not be empty/],
  ]
  for (const [issuers, message] of wrong)
    await t.rejects(read(...issuers), { name: 'ConfigError', message }, String(message))
})

t.test(
  'the database is a file or a PostgreSQL, and what is wrong with its URL is said without it',
  async (t) => {
    const folder = await applicationFolder(t, { database: 'postgres://ann:secret@localhost/shop' })
    const config = await readConfig(folder, {})
    t.equal(config.databaseFile, undefined)
    t.strictSame(databaseAddress(config), { url: 'postgres://ann:secret@localhost/shop' })
    const file = await readConfig(folder, { APP_DATABASE: 'data/x.db' })
    t.strictSame(databaseAddress(file), { file: join(folder, 'data', 'x.db') })
    for (const [url, message] of [
      [
        'postgres://ann:secret@db.example/shop',
        /^APP_DATABASE \("database"\) goes to another machine \(db\.example\)/,
      ],
      [
        'mysql://ann:secret@localhost/shop',
        /^APP_DATABASE \("database"\) must be the path of a file, or begin with postgres/,
      ],
    ] as const) {
      const error = await readConfig(folder, { APP_DATABASE: url }).catch((error) => error)
      t.match(error, { name: 'ConfigError', message })
      t.notMatch(error.message, 'secret')
    }
  },
)

t.test('values other than a JSON object are refused', async (t) => {
  const folder = await temporaryFolder(t)
  for (const text of ['', '[]', 'null', '{', '"x"']) {
    await writeFile(configFile(folder), text)
    await t.rejects(readConfig(folder, {}), ConfigError, JSON.stringify(text))
  }
})

t.test('unknown APP_ variables are reported', async (t) => {
  const folder = await applicationFolder(t)
  const config = await readConfig(folder, {
    APP_BASEPATH: '/api',
    APP_MODULES_X_Y: '1',
    APP_SECRET: 's'.repeat(32),
  })
  t.same(config.unknownVariables, ['APP_BASEPATH'])
})

t.test('the secret comes from the environment, else from its file, and is never short', async (t) => {
  const folder = await applicationFolder(t)
  const fromFile = await readConfig(folder, {})
  t.equal(Buffer.from(fromFile.secret ?? '').toString(), 'a secret of 32 bytes, for tests only')
  const fromVariable = await readConfig(folder, { APP_SECRET: 'v'.repeat(32) })
  t.equal(Buffer.from(fromVariable.secret ?? '').toString(), 'v'.repeat(32))
  t.equal(tokenIssuers(fromVariable).length, 1)
  await t.rejects(readConfig(folder, { APP_SECRET: 'short' }), { message: /APP_SECRET has 5 bytes/ })
  await writeFile(secretFile(folder), 'short\n')
  await t.rejects(readConfig(folder, {}), { message: /secret has 5 bytes/ })
})

t.test('a wrong setting of a module is blamed on its variable', async (t) => {
  const schema = { type: 'object', properties: { times: { type: 'integer' } }, additionalProperties: false }
  const config = { modules: {}, environment: { APP_MODULES_API_NOTE_TIMES: 'x' } }
  t.throws(() => moduleSettings(config, 'api-note', schema as never), {
    message: 'APP_MODULES_API_NOTE_TIMES ("modules.api-note.times") must be an integer',
  })
})

t.test('a module gets its own settings, checked, with defaults and overrides', async (t) => {
  const schema = {
    type: 'object',
    properties: { greeting: { type: 'string', default: 'hello' }, times: { type: 'integer', minimum: 1 } },
    required: ['times'],
    additionalProperties: false,
  }
  const config = { modules: { note: { times: 2 } }, environment: { APP_MODULES_NOTE_GREETING: 'hi' } }
  t.same(moduleSettings(config, 'note', schema as never), { greeting: 'hi', times: 2 })
  t.same(config.modules.note, { times: 2 }, 'what the file says is left alone')
  t.throws(() => moduleSettings({ ...config, modules: {} }, 'note', schema as never), {
    message: '"modules.note.times" is required',
  })
  t.throws(() => moduleSettings(config, 'note', undefined), { message: /has no settings/ })
  t.same(moduleSettings({ ...config, modules: {} }, 'note', undefined), {})
})
