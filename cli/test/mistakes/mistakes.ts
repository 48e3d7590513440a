// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates of the planted code

/** What an author may do wrong, planted in the module of shelf.ts. */
export interface Mistake {
  readonly name: string
  /** The code of the finding. */
  readonly rule: string
  /** The beginning of its place. */
  readonly where: string
  readonly why?: RegExp
  /** Code at the end of the plugin. */
  readonly body?: string
  /** Code at the end of the file. */
  readonly top?: string
  /** Texts of index.js, and what stands there instead. */
  readonly replace?: Readonly<Record<string, string>>
  readonly routes?: readonly string[]
  /** More files; null for one that is removed. */
  readonly files?: Readonly<Record<string, string | null>>
  readonly json?: Readonly<Record<string, unknown>>
  readonly manifest?: Readonly<Record<string, unknown>>
  /** The package.json and files of a module that serves beside it. */
  readonly beside?: Readonly<Record<string, string>>
  /** Rules that find it too, at the same place. */
  readonly also?: readonly string[]
  /** Found on PostgreSQL only. */
  readonly postgres?: true
}

const own = 'WHERE id = ${params.id} AND owner = ${caller.id}'
const schema = (more = '') =>
  `{ config, schema: { summary: 'x', response: { 200: Type.Object({ id: Type.String() }) }, ${more} } }`
const get = (path: string, handler: string, more = '') => `app.get('${path}', ${schema(more)}, ${handler})`
const post = (path: string, steps: string, more = '') =>
  `app.post('${path}', ${schema(more)}, (request) => request.transaction(function* () { ${steps} }))`

/** Each is in a module of its own: it keeps the module from loading, or changes what the others find. */
export const alone: readonly Mistake[] = [
  {
    name: 'a default that its own schema refuses',
    rule: 'setting-default',
    where: 'package.json',
    why: /"room"/,
    manifest: {
      config: {
        type: 'object',
        additionalProperties: false,
        required: ['room'],
        properties: { room: { type: 'integer', minimum: 1, default: 0 } },
      },
    },
  },
  // Found before the check was there.
  {
    name: 'no access',
    rule: 'probe',
    where: 'index.js:',
    why: /GET \/shelf-x has no access/,
    body: "app.get('/shelf-x', async () => ({}))",
    routes: ['GET /shelf-x'],
  },
  {
    name: 'Type.Transform',
    rule: 'probe',
    where: 'index.js:',
    why: /Type\.Transform, which the host does not run/,
    body: "app.get('/shelf-transform', { config, schema: { summary: 'x', response: { 200: Type.Object({ at: Type.Transform(Type.String()).Decode((text) => new Date(text)).Encode((date) => date.toISOString()) }) } } }, async () => ({ at: 'x' }))",
    routes: ['GET /shelf-transform'],
  },
  {
    name: 'a validator compiler of its own',
    rule: 'probe',
    where: 'index.js:',
    why: /POST \/shelf-lax has a validatorCompiler/,
    body: `app.post('/shelf-lax', { ...${schema('body: NewBook')}, validatorCompiler: () => () => true }, (request) => request.transaction(function* () { return { id: '1' } }))`,
    routes: ['POST /shelf-lax'],
  },
  {
    name: 'await in a transaction',
    rule: 'probe',
    where: 'index.js:',
    why: /yield\* instead of await/,
    replace: { "yield* emit('shelf.filled'": "await emit('shelf.filled'" },
  },
  {
    name: 'a table without the prefix',
    rule: 'probe',
    where: 'package.json',
    why: /003-x\.sql.*"books"/,
    files: {
      'migrations/003-x.sql': 'CREATE TABLE books (id TEXT);',
      'migrations/003-x.down.sql': 'DROP TABLE books;',
    },
  },
  {
    name: "a migration that changes another's table",
    rule: 'probe',
    where: 'package.json',
    why: /003-x\.sql.*mortise_guest/,
    files: {
      'migrations/003-x.sql': 'ALTER TABLE mortise_guest ADD COLUMN x TEXT;',
      'migrations/003-x.down.sql': 'ALTER TABLE mortise_guest DROP COLUMN x;',
    },
  },
  {
    name: 'an event that the manifest does not name',
    rule: 'probe',
    where: 'package.json',
    why: /"shelf\.lost", which its manifest does not declare/,
    replace: { 'events: {\n': "events: {\n    'shelf.lost': Type.Object({}),\n" },
  },
  {
    name: 'an event that another module emits too',
    rule: 'probe',
    where: 'package.json',
    why: /which other also emits/,
    beside: {
      'package.json': JSON.stringify({
        name: '@acme/other',
        version: '1.0.0',
        type: 'module',
        exports: './index.js',
        mortise: { id: 'other', host: '*', routes: [], events: ['shelf.filled'] },
      }),
      'index.js': `import { defineModule } from '@mortise/module-sdk'
        export default defineModule('other', { events: { 'shelf.filled': { type: 'object' } } }).plugin(async () => {})`,
    },
  },
  {
    name: 'an unknown key in the manifest',
    rule: 'invalid-manifest',
    where: 'package.json',
    why: /"mortise\.listenTo" is not a known field; did you mean "listensTo"/,
    manifest: { listenTo: ['shelf.filled'] },
  },
  {
    name: 'a value of the wrong type in the manifest',
    rule: 'invalid-manifest',
    where: 'package.json',
    why: /"mortise\.routes" must be/,
    manifest: { routes: 'GET /shelf' },
  },
  {
    name: 'a peer range that the host does not meet',
    rule: 'peer-range',
    where: 'package.json',
    why: /@mortise\/module-sdk/,
    json: { peerDependencies: { '@mortise/module-sdk': '^9.0.0', '@sinclair/typebox': '^0.34.52' } },
  },
  {
    name: 'a host range that this host does not meet',
    rule: 'host-range',
    where: 'package.json',
    manifest: { host: '^9.0.0' },
  },
  {
    name: 'a required contract that nobody provides',
    rule: 'contract-missing',
    where: 'package.json',
    why: /catalog/,
    manifest: { requires: { catalog: '^1.0.0' } },
  },
  {
    name: 'contracts in a circle',
    rule: 'contract-conflict',
    where: 'package.json',
    why: /circle: (other → shelf → other|shelf → other → shelf)/,
    manifest: { provides: { shelf: '1.0.0' }, requires: { other: '^1.0.0' } },
    beside: {
      'package.json': JSON.stringify({
        name: '@acme/other',
        version: '1.0.0',
        type: 'module',
        exports: './index.js',
        mortise: {
          id: 'other',
          host: '*',
          routes: [],
          provides: { other: '1.0.0' },
          requires: { shelf: '^1.0.0' },
        },
      }),
      'index.js': 'export default async () => {}',
    },
  },
  {
    name: 'no default export',
    rule: 'probe',
    where: 'package.json',
    why: /default export is not a Fastify plugin/,
    replace: { 'export default plugin(': 'export const main = plugin(' },
  },
  {
    name: 'an import that never ends',
    rule: 'probe',
    where: 'index.js',
    why: /did not finish loading within 10 s/,
    top: 'await new Promise((resolve) => setInterval(() => {}, 1000))',
  },
  {
    name: 'process.exit while it loads',
    rule: 'probe',
    where: 'index.js:',
    why: /ended with exit code 0/,
    top: 'process.exit(0)',
  },
  {
    name: 'a native addon that is not built',
    rule: 'probe',
    where: 'index.js',
    why: /Cannot find module/,
    top: "import { createRequire } from 'node:module'\ncreateRequire(import.meta.url)('./build/Release/addon.node')",
  },
  {
    name: 'the build is missing',
    rule: 'no-entry',
    where: 'package.json',
    why: /dist\/index\.js/,
    json: { exports: './dist/index.js' },
  },
  // Beyond the trial.
  {
    name: 'a migration for one engine without its twin',
    rule: 'migration-files',
    where: 'migrations/003-x',
    why: /add 003-x\.postgres\.sql/,
    files: {
      'migrations/003-x.sqlite.sql': 'CREATE TABLE shelf_x (id TEXT);',
      'migrations/003-x.down.sql': 'DROP TABLE shelf_x;',
    },
  },
  {
    name: 'a down migration for one engine without its twin',
    rule: 'migration-files',
    where: 'migrations/002-filled.sqlite.down.sql',
    files: {
      'migrations/002-filled.down.sql': null,
      'migrations/002-filled.sqlite.down.sql': 'DROP TABLE shelf_filled;',
    },
  },
  {
    name: 'a gap in the numbers of the migrations',
    rule: 'migration-files',
    where: 'migrations/004-x.sql',
    why: /should have the number 003/,
    files: { 'migrations/004-x.sql': 'CREATE TABLE shelf_x (id TEXT);' },
  },
  {
    name: 'a migration that begins a transaction',
    rule: 'probe',
    where: 'package.json',
    why: /003-x\.sql of shelf failed: BEGIN belongs to the storage engine/,
    files: {
      'migrations/003-x.sql': 'BEGIN; CREATE TABLE shelf_x (id TEXT); COMMIT;',
      'migrations/003-x.down.sql': 'DROP TABLE shelf_x;',
    },
  },
  {
    name: 'the folder of the migrations is missing',
    rule: 'migration-files',
    where: 'sql',
    why: /Does its manifest name the folder/,
    manifest: { migrations: 'sql' },
  },
  {
    name: 'a route that the manifest does not name',
    rule: 'probe',
    where: 'index.js:',
    why: /GET \/shelf-x, which its manifest does not declare/,
    body: get('/shelf-x', "async () => ({ id: '1' })"),
  },
  {
    name: 'a route of the manifest that is not there',
    rule: 'probe',
    where: 'package.json',
    why: /declares GET \/shelf-x/,
    routes: ['GET /shelf-x'],
  },
  {
    name: 'a path of the host',
    rule: 'conflict',
    where: 'package.json',
    why: /GET \/health\/x belongs to the host/,
    body: get('/health/x', "async () => ({ id: '1' })"),
    routes: ['GET /health/x'],
  },
  {
    name: 'a handler for an event that the manifest does not name',
    rule: 'probe',
    where: 'index.js:',
    why: /"cart\.emptied", which its manifest does not name/,
    body: "on('cart.emptied', function* () {})",
  },
  {
    name: 'an event handler that is async',
    rule: 'probe',
    where: 'index.js:',
    why: /async function/,
    replace: {
      "on('shelf.filled', function* ({ owner, data }) {\n    yield*":
        "on('shelf.filled', async function ({ owner, data }) {\n    await",
    },
  },
  {
    name: 'a schema that is none',
    rule: 'probe',
    where: 'package.json',
    replace: { 'title: Type.String({ minLength: 1, maxLength: 100 })': "title: { type: 'text' }" },
  },
  {
    name: 'a process while it loads',
    rule: 'probe',
    where: 'index.js:',
    why: /starts a process/,
    top: "import { spawn } from 'node:child_process'\nspawn('true')",
  },
  {
    name: 'a file written into the package while it loads',
    rule: 'probe',
    where: 'index.js:',
    why: /writes to/,
    top: "import { writeFileSync } from 'node:fs'\nwriteFileSync(new URL('x', import.meta.url), '')",
  },
  {
    name: 'a change of what all modules share',
    rule: 'probe',
    where: 'package.json',
    why: /adds Object\.prototype\.shout/,
    top: 'Object.prototype.shout = 1',
  },
  {
    name: 'SQL that only SQLite reads',
    rule: 'server-error',
    where: 'GET /shelf-x (index.js:',
    body: get(
      '/shelf-x',
      'async () => ({ id: (await database.one(sql`SELECT hex(randomblob(4)) AS id`)).id })',
    ),
    routes: ['GET /shelf-x'],
    postgres: true,
  },
  {
    name: 'a migration that only SQLite reads',
    rule: 'probe',
    where: 'package.json',
    why: /003-x/,
    files: {
      'migrations/003-x.sql': 'CREATE TABLE shelf_x (id INTEGER PRIMARY KEY AUTOINCREMENT);',
      'migrations/003-x.down.sql': 'DROP TABLE shelf_x;',
    },
    postgres: true,
  },
]

/** Together in one module: each on routes of its own. */
export const together: readonly (readonly Mistake[])[] = [
  [
    {
      name: 'a migration without down',
      rule: 'no-down',
      where: 'migrations/002-filled.sql',
      files: { 'migrations/002-filled.down.sql': null },
    },
    {
      name: 'a package of many megabytes',
      rule: 'large-package',
      where: 'package.json',
      files: { 'big.js': `//${'x'.repeat(11 * 1024 * 1024)}` },
    },
    {
      name: 'a postinstall script',
      rule: 'install-script',
      where: 'package.json',
      json: { scripts: { postinstall: 'node x.js' } },
    },
    {
      name: 'a GET that calls another API: the probe calls it',
      rule: 'network',
      where: 'index.js:',
      why: /example\.com/,
      body: get(
        '/shelf-x',
        "async () => { await fetch('https://example.com/').catch(() => {}); return { id: '1' } }",
      ),
      routes: ['GET /shelf-x'],
    },
    {
      name: 'a down migration after which the migration makes something else',
      rule: 'migration-fails',
      where: 'migrations/003-x',
      why: /give another schema than up alone/,
      files: {
        'migrations/003-x.sql': 'CREATE TABLE shelf_x (id TEXT);',
        'migrations/003-x.down.sql': 'DROP TABLE shelf_x; ALTER TABLE shelf_filled ADD COLUMN more TEXT;',
      },
    },
    {
      name: 'a contract that is never provided',
      rule: 'not-provided',
      where: 'package.json',
      manifest: { provides: { shelf: '1.0.0' } },
    },
    {
      name: 'every caller reads every list',
      rule: 'foreign-row',
      where: 'GET /shelf (index.js:',
      why: /sends a text of another user/,
      replace: { 'WHERE owner = ${caller.id} ORDER BY id': 'ORDER BY id LIMIT 200' },
    },
  ],
  [
    {
      name: 'a default export that no defineModule made',
      rule: 'manifest-differs',
      where: 'package.json',
      why: /does not come from defineModule/,
      files: { 'index.js': 'export default async () => {}' },
      manifest: { routes: [], events: [], listensTo: [], config: undefined },
    },
  ],
  [
    {
      name: 'the name of a first-party package',
      rule: 'name-taken',
      where: 'package.json',
      json: { name: 'api-cart' },
    },
    {
      name: 'a down migration that is broken',
      rule: 'migration-fails',
      where: 'migrations/002-filled.down.sql',
      files: { 'migrations/002-filled.down.sql': 'DROP TABLE shelf_fill;' },
    },
    {
      name: 'another id in defineModule',
      rule: 'manifest-differs',
      where: 'package.json',
      why: /"shelf", and defineModule names "shelves"/,
      replace: { "defineModule('shelf'": "defineModule('shelves'" },
    },
  ],
  [
    {
      name: 'a down migration that leaves a table',
      rule: 'migration-fails',
      where: 'migrations/001-shelf.down.sql',
      why: /leaves "shelf"/,
      files: { 'migrations/001-shelf.down.sql': 'DROP INDEX shelf_of_owner;' },
    },
    {
      name: 'the SDK as a dependency',
      rule: 'shared-dependency',
      where: 'package.json',
      json: {
        dependencies: { '@mortise/module-sdk': '^1.0.0' },
        peerDependencies: { '@sinclair/typebox': '^0.34.52' },
      },
    },
  ],
  [
    {
      name: 'a migration that fails on rows',
      rule: 'migration-fails',
      where: 'migrations/003-x',
      files: {
        'migrations/003-x.sqlite.sql': 'ALTER TABLE shelf ADD COLUMN x TEXT NOT NULL DEFAULT (hex(1));',
        'migrations/003-x.postgres.sql': "ALTER TABLE shelf ADD COLUMN x TEXT NOT NULL DEFAULT 'x';",
        'migrations/003-x.sqlite.down.sql': 'ALTER TABLE shelf DROP COLUMN x;',
        'migrations/003-x.postgres.down.sql': 'ALTER TABLE shelf DROP COLUMN x;',
      },
    },
    {
      name: 'settings that the manifest does not have',
      rule: 'manifest-differs',
      where: 'package.json',
      why: /mortise\.config/,
      replace: { 'minimum: 1, default: 100': 'minimum: 2, default: 100' },
    },
    {
      name: 'the migrations are not packed',
      rule: 'not-packed',
      where: 'package.json',
      json: { files: ['index.js'] },
    },
  ],
  [
    {
      name: 'a down migration that undoes less',
      rule: 'migration-fails',
      where: 'migrations/003-x',
      why: /duplicate/i,
      files: {
        'migrations/003-x.sql': 'ALTER TABLE shelf ADD COLUMN x TEXT; ALTER TABLE shelf ADD COLUMN y TEXT;',
        'migrations/003-x.down.sql': 'ALTER TABLE shelf DROP COLUMN x;',
      },
    },
    {
      name: 'no owner in the WHERE of a GET',
      rule: 'foreign-id',
      where: 'GET /shelf/:id (index.js:',
      why: /gets 200/,
      replace: { [`FROM shelf ${own}`]: 'FROM shelf WHERE id = ${params.id}' },
    },
    {
      name: 'no owner in the WHERE of a PATCH',
      rule: 'foreign-id',
      where: 'PATCH /shelf/:id (index.js:',
      why: /changes rows/,
      replace: {
        'WHERE id = ${id} AND owner = ${request.caller.id}`)\n      if (changed':
          'WHERE id = ${id}`)\n      if (changed',
      },
    },
    {
      name: 'a DELETE without the owner',
      rule: 'foreign-id',
      where: 'DELETE /shelf/:id (index.js:',
      why: /changes rows/,
      replace: {
        'WHERE id = ${id} AND owner = ${request.caller.id}`)\n        if (removed':
          'WHERE id = ${id}`)\n        if (removed',
      },
    },
  ],
  [
    {
      name: '403 for the id of another caller shows that it exists',
      rule: 'foreign-id',
      where: 'GET /shelf/:id/title (index.js:',
      why: /shows who has what/,
      body: `app.get('/shelf/:id/title', { config, schema: { summary: 'x', ...book, response: { ...book.response, ...responses('shelf-full') } } }, async ({ caller, params }) => {
        const found = await database.maybeOne(sql\`SELECT id, title, owner FROM shelf WHERE id = \${params.id}\`)
        if (!found) throw problem('book-not-found')
        if (found.owner !== caller.id) throw problem('shelf-full')
        return found
      })`,
      routes: ['GET /shelf/:id/title'],
    },
    {
      name: "another caller's id below an own one",
      rule: 'foreign-id',
      where: 'GET /shelf/:id/page/:page (index.js:',
      why: /Another user gets 200/,
      files: {
        'migrations/003-page.sql': 'CREATE TABLE shelf_page (id TEXT, book TEXT);',
        'migrations/003-page.down.sql': 'DROP TABLE shelf_page;',
      },
      body: `const ofBook = { summary: 'x', ...book, params: Strict({ id: Type.String(), page: Type.String() }) }
      const isOwn = ({ caller, params }) => sql\`SELECT id, title FROM shelf WHERE id = \${params.id} AND owner = \${caller.id}\`
      app.post('/shelf/:id/page', { config, schema: { summary: 'x', ...book, response: { 200: IdParams, ...responses('book-not-found') } } }, (request) => request.transaction(function* () {
        if (!(yield* maybeOne(isOwn(request)))) throw problem('book-not-found')
        const id = newId('page')
        yield* run(sql\`INSERT INTO shelf_page (id, book) VALUES (\${id}, \${request.params.id})\`)
        return { id }
      }))
      app.get('/shelf/:id/page/:page', { config, schema: ofBook }, (request) => database.snapshot(function* () {
        const found = yield* maybeOne(isOwn(request))
        if (!found || !(yield* maybeOne(sql\`SELECT id FROM shelf_page WHERE id = \${request.params.page}\`))) throw problem('book-not-found')
        return found
      }))`,
      routes: ['POST /shelf/:id/page', 'GET /shelf/:id/page/:page'],
    },
    {
      name: "a query that gives others' rows",
      rule: 'foreign-row',
      where: 'GET /shelf-of (index.js:',
      body: `app.get('/shelf-of', { config, schema: { summary: 'x', querystring: Strict({ owner: Type.Optional(Type.String()) }), response: { 200: List(Book) } } }, async ({ caller, query }) => ({
        data: await database.many(sql\`SELECT id, title FROM shelf WHERE owner = \${query.owner ?? caller.id} ORDER BY id LIMIT 50\`) }))`,
      routes: ['GET /shelf-of'],
    },
    {
      name: 'a statement for each row (N+1)',
      rule: 'n-plus-one',
      where: 'GET /shelf-titles (index.js:',
      body: `app.get('/shelf-titles', { config, schema: { summary: 'x', response: { 200: List(Book) } } }, async ({ caller }) => {
        const ids = await database.many(sql\`SELECT id FROM shelf WHERE owner = \${caller.id} ORDER BY id LIMIT 50\`)
        return { data: await Promise.all(ids.map(({ id }) => database.one(sql\`SELECT id, title FROM shelf WHERE id = \${id}\`))) }
      })`,
      routes: ['GET /shelf-titles'],
    },
    {
      name: 'a condition for each value that a caller sends',
      rule: 'unbounded-conditions',
      where: 'GET /shelf-words (index.js:',
      body: `app.get('/shelf-words', { config, schema: { summary: 'x', querystring: Type.Object({ words: Type.Optional(Type.String({ examples: ['sea'] })) }), response: { 200: List(Book) } } }, async ({ caller, query }) => {
        const words = (query.words ?? '').split(' ').map((word) => sql\`title <> \${word}\`)
        return { data: await database.many(sql\`SELECT id, title FROM shelf WHERE owner = \${caller.id} AND \${words.reduce((all, one) => sql\`\${all} AND \${one}\`)} ORDER BY id LIMIT 50\`) }
      })`,
      routes: ['GET /shelf-words'],
    },
    {
      name: 'money as a fraction',
      rule: 'money',
      where: 'GET /shelf-value (index.js:',
      body: "app.get('/shelf-value', { config, schema: { summary: 'x', response: { 200: Type.Object({ price: Type.Number() }) } } }, async () => ({ price: 5.1 }))",
      routes: ['GET /shelf-value'],
    },
    {
      name: 'money as a fraction where an integer is declared',
      rule: 'server-error',
      where: 'GET /shelf-sum (index.js:',
      body: "app.get('/shelf-sum', { config, schema: { summary: 'x', response: { 200: Type.Object({ price: Type.Integer() }) } } }, async () => ({ price: Number.NaN }))",
      routes: ['GET /shelf-sum'],
    },
    {
      name: 'no response schema',
      rule: 'no-response-schema',
      where: 'GET /shelf-raw (index.js:',
      body: "app.get('/shelf-raw', { config, schema: { summary: 'x' } }, async ({ caller }, reply) => caller.kind === 'guest' ? reply.code(410).send({}) : { secret: 1 })",
      routes: ['GET /shelf-raw'],
    },
    {
      name: 'a status of a route that declares none',
      rule: 'undeclared-status',
      where: 'GET /shelf-raw (index.js:',
      why: /responds with 410/,
    },
    {
      name: 'a serializer of its own',
      rule: 'serializer',
      where: 'GET /shelf-serial (index.js:',
      body: `app.get('/shelf-serial', { ...${schema()}, serializerCompiler: () => () => '{"id":"1"}' }, async () => ({ id: '1' }))`,
      routes: ['GET /shelf-serial'],
    },
    {
      name: 'a response schema that lets everything through',
      rule: 'no-response-schema',
      where: 'GET /shelf-any (index.js:',
      body: "app.get('/shelf-any', { config, schema: { summary: 'x', response: { 200: Type.Any() } } }, async () => ({ secret: 1 }))",
      routes: ['GET /shelf-any'],
    },
    {
      name: 'an undeclared status',
      rule: 'server-error',
      where: 'GET /shelf-status (index.js:',
      why: /returns 202, which its schema does not declare/,
      body: get('/shelf-status', "async (request, reply) => reply.code(202).send({ id: '1', secret: 1 })"),
      routes: ['GET /shelf-status'],
    },
    {
      name: 'an undeclared problem',
      rule: 'undeclared-status',
      where: 'GET /shelf-problem (index.js:',
      why: /shelf-full \(409\)/,
      body: get('/shelf-problem', "async () => { throw problem('shelf-full') }"),
      routes: ['GET /shelf-problem'],
    },
    {
      name: 'a response that its schema refuses',
      rule: 'wrong-response',
      where: 'GET /shelf-date (index.js:',
      why: /"at"/,
      body: "app.get('/shelf-date', { config, schema: { summary: 'x', response: { 200: Type.Object({ at: Type.String({ format: 'date-time' }) }) } } }, async () => ({ at: 'yesterday' }))",
      routes: ['GET /shelf-date'],
    },
    {
      name: 'no summary',
      rule: 'no-summary',
      where: 'GET /shelf-nameless (index.js:',
      body: "app.get('/shelf-nameless', { config, schema: { response: { 200: Type.Object({}) } } }, async () => ({}))",
      routes: ['GET /shelf-nameless'],
    },
    {
      name: 'a path parameter without a schema',
      rule: 'no-request-schema',
      where: 'GET /shelf-by/:title (index.js:',
      body: get('/shelf-by/:title', "async () => ({ id: '1' })"),
      routes: ['GET /shelf-by/:title'],
    },
  ],
  [
    {
      name: 'no body schema',
      rule: 'server-error',
      where: 'POST /shelf-bare (index.js:',
      why: /Cannot read properties/,
      body: post('/shelf-bare', 'return { id: request.body.title }'),
      routes: ['POST /shelf-bare'],
    },
    {
      name: 'a PATCH without a body schema',
      rule: 'no-request-schema',
      where: 'PATCH /shelf-bare (index.js:',
      why: /its body has no schema/,
      body: `app.patch('/shelf-bare', ${schema()}, (request) => request.transaction(function* () { return { id: '1' } }))`,
      routes: ['PATCH /shelf-bare'],
    },
    {
      name: 'a TypeError on odd input of a GET',
      rule: 'server-error',
      where: 'GET /shelf-odd (index.js:',
      body: get(
        '/shelf-odd',
        'async ({ query }) => ({ id: decodeURIComponent(query.id) })',
        'querystring: Strict({ id: Type.String() })',
      ),
      routes: ['GET /shelf-odd'],
    },
    {
      name: 'an event that is not declared',
      rule: 'server-error',
      where: 'POST /shelf-event (index.js:',
      why: /"shelf\.lost" is not an event/,
      body: post('/shelf-event', "yield* emit('shelf.lost', { subject: '1', data: {} }); return { id: '1' }"),
      routes: ['POST /shelf-event'],
    },
    {
      name: 'event data that do not match their type',
      rule: 'server-error',
      where: 'POST /shelf-untrue (index.js:',
      body: post(
        '/shelf-untrue',
        "yield* emit('shelf.filled', { subject: '1', data: { count: 'many' } }); return { id: '1' }",
      ),
      routes: ['POST /shelf-untrue'],
    },
    {
      name: 'an HTTP call in a transaction',
      rule: 'network',
      where: 'index.js:',
      why: /example\.org\/ during a transaction/,
      body: post('/shelf-call', "fetch('https://example.org/').catch(() => {}); return { id: '1' }"),
      routes: ['POST /shelf-call'],
    },
    {
      name: 'an HTTP call while it loads',
      rule: 'network',
      where: 'index.js:',
      why: /example\.net\/ during its loading/,
      top: "fetch('https://example.net/').catch(() => {})",
    },
    {
      name: 'an environment variable',
      rule: 'environment',
      where: 'index.js:',
      why: /SHELF_SIZE/,
      body: 'const size = process.env.SHELF_SIZE',
    },
    {
      name: 'a package that package.json does not name',
      rule: 'undeclared-import',
      where: 'index.js',
      why: /imports semver/,
      top: "import 'semver'",
    },
    {
      name: 'an interval that nobody ends',
      rule: 'left-behind',
      where: 'index.js:',
      why: /a timer/,
      body: 'setInterval(() => {}, 1000).unref()',
    },
    {
      name: 'an UDP port that nobody closes',
      rule: 'left-behind',
      where: 'index.js:',
      why: /an open UDP port/,
      body: "const { createSocket } = await import('node:dgram')\ncreateSocket('udp4').bind(0).unref()",
    },
    {
      name: 'a watched file that nobody leaves',
      rule: 'left-behind',
      where: 'index.js:',
      why: /a file watcher/,
      body: "const { watchFile } = await import('node:fs')\nwatchFile(import.meta.filename, { persistent: false }, () => {})",
    },
    {
      name: 'a signal that is heard for ever',
      rule: 'left-behind',
      where: 'index.js:',
      why: /a signal listener/,
      body: "process.on('SIGUSR2', () => {})",
    },
    {
      name: 'a port that nobody closes',
      rule: 'left-behind',
      where: 'index.js:',
      why: /an open port/,
      body: "const { createServer } = await import('node:net')\ncreateServer().listen(0).unref()",
    },
    {
      name: 'a GET that writes',
      rule: 'get-writes',
      where: 'GET /shelf-visit (index.js:',
      body: get(
        '/shelf-visit',
        "async ({ caller }) => { await database.transaction(function* () { yield* run(sql`UPDATE shelf_filled SET count = count + 1 WHERE owner = ${caller.id}`) }); return { id: '1' } }",
      ),
      routes: ['GET /shelf-visit'],
    },
    {
      name: 'a DELETE that cannot be repeated',
      rule: 'delete-repeats',
      where: 'DELETE /shelf-last (index.js:',
      body: `app.delete('/shelf-last', ${schema()}, (request) => request.transaction(function* () {
        yield* run(sql\`DELETE FROM shelf WHERE id = (SELECT max(id) FROM shelf WHERE owner = \${request.caller.id})\`)
        return { id: '1' }
      }))`,
      routes: ['DELETE /shelf-last'],
    },
    {
      name: 'a DELETE that fails when it is repeated',
      rule: 'delete-repeats',
      where: 'DELETE /shelf-count (index.js:',
      why: /responds with 500/,
      body: `app.delete('/shelf-count', ${schema()}, (request) => request.transaction(function* () {
        yield* one(sql\`DELETE FROM shelf_filled WHERE owner = \${request.caller.id} RETURNING count\`)
        return { id: '1' }
      }))`,
      routes: ['DELETE /shelf-count'],
    },
    {
      name: 'an error for what is gone',
      rule: 'server-error',
      where: 'DELETE /shelf-count (index.js:',
    },
    {
      name: 'a POST outside of request.transaction',
      rule: 'key-ignored',
      where: 'POST /shelf-echo (index.js:',
      why: /responds with 200, not with the first response/,
      body: `app.post('/shelf-echo', ${schema('body: NewBook')}, async () => ({ id: newId('book') }))`,
      routes: ['POST /shelf-echo'],
    },
    {
      name: 'a write that ignores the Idempotency-Key',
      rule: 'key-ignored',
      where: 'POST /shelf-twice (index.js:',
      body: `app.post('/shelf-twice', ${schema('body: NewBook')}, async (request) => {
        const id = newId('book')
        await database.transaction(function* () { yield* run(sql\`INSERT INTO shelf_filled (owner, count) VALUES (\${id}, 1)\`) })
        return { id }
      })`,
      routes: ['POST /shelf-twice'],
    },
    {
      name: 'a Location that is promised and not sent',
      rule: 'no-location',
      where: 'POST /shelf (index.js:',
      replace: {
        'return respond(201, added, { location: `/shelf/${added.id}` })': 'return respond(201, added)',
      },
    },
    {
      name: 'respond() outside of a transaction',
      rule: 'misplaced-response',
      where: 'GET /shelf-response (index.js:',
      body: "app.get('/shelf-response', { config, schema: { summary: 'x', response: { 200: Type.Object({ id: Type.Optional(Type.String()) }) } } }, async () => respond(200, { id: '1' }))",
      routes: ['GET /shelf-response'],
    },
    {
      name: "run-time SQL on the host's table",
      rule: 'server-error',
      where: 'GET /shelf-guests',
      why: /shelf names "mortise_guest", which belongs to the host: ask it through the context/,
      body: get(
        '/shelf-guests',
        'async () => { const { count } = await database.snapshot(() => one(sql`SELECT count(*) AS count FROM mortise_guest`)); return { id: String(count) } }',
      ),
      routes: ['GET /shelf-guests'],
    },
    {
      name: "a step of a transaction on the host's table",
      rule: 'server-error',
      where: 'POST /shelf-forget (index.js:',
      why: /shelf names "mortise_guest", which belongs to the host/,
      body: post(
        '/shelf-forget',
        "yield* run(sql`DELETE FROM mortise_guest WHERE id = ${request.caller.id}`); return { id: '1' }",
      ),
      routes: ['POST /shelf-forget'],
    },
    {
      name: 'a request that never gets a response',
      rule: 'no-response',
      where: 'POST /shelf-never (index.js:',
      body: `app.post('/shelf-never', ${schema()}, () => new Promise(() => {}))`,
      routes: ['POST /shelf-never'],
    },
  ],
  [
    {
      name: 'a list without a limit',
      rule: 'unbounded-list',
      where: 'GET /shelf (index.js:',
      replace: { 'if (count >= settings.room)': 'if (count >= 1000)' },
    },
    {
      name: 'an event handler that throws',
      rule: 'handler-fails',
      where: 'event shelf.filled (index.js:',
      replace: {
        "on('shelf.filled', function* ({ owner, data }) {":
          "on('shelf.filled', function* ({ owner, data }) {\n    data.books.length",
      },
    },
    {
      name: 'an event without a type',
      rule: 'untyped-event',
      where: 'event shelf.moved',
      replace: { 'events: {\n': "events: {\n    'shelf.moved': Type.Unknown(),\n" },
      manifest: { events: ['shelf.filled', 'shelf.moved'] },
    },
    {
      name: "a foreign key to another's table",
      rule: 'foreign-key',
      where: 'table shelf_guest',
      why: /mortise_guest/,
      files: {
        'migrations/003-guest.sql': 'CREATE TABLE shelf_guest (id TEXT REFERENCES mortise_guest (id));',
        'migrations/003-guest.down.sql': 'DROP TABLE shelf_guest;',
      },
    },
    {
      name: 'a process in a request',
      rule: 'process',
      where: 'index.js:',
      body: get(
        '/shelf-spawn',
        "async () => { const { spawn } = await import('node:child_process'); try { spawn('true') } catch {} return { id: '1' } }",
      ),
      routes: ['GET /shelf-spawn'],
    },
    {
      name: 'a thread that nobody ends',
      rule: 'left-behind',
      where: 'index.js:',
      why: /a thread/,
      body: "const { Worker } = await import('node:worker_threads')\nnew Worker('setInterval(() => {}, 1000)', { eval: true }).unref()",
    },
    {
      name: 'an integer that the database cannot take',
      rule: 'server-error',
      where: 'POST /shelf-count (index.js:',
      body: post(
        '/shelf-count',
        'yield* run(sql`UPDATE shelf_filled SET count = ${request.body.count / 2} WHERE owner = ${request.caller.id}`); return { id: String(1) }',
        'body: Strict({ count: Type.Integer() })',
      ),
      routes: ['POST /shelf-count'],
    },
    {
      name: 'a unique key that ends in a 500',
      rule: 'server-error',
      where: 'POST /shelf-unique (index.js:',
      body: post(
        '/shelf-unique',
        "yield* run(sql`INSERT INTO shelf (id, owner, title) VALUES ('the-one', ${request.caller.id}, 'x')`); return { id: 'the-one' }",
      ),
      routes: ['POST /shelf-unique'],
    },
  ],
]

/** Found, or refused, elsewhere: by the host, the installation or the types. */
export const elsewhere: Readonly<Record<string, string>> = {
  'an edited migration': 'installation: cli/test/hostile, planMigrations',
  'a required setting that is missing': 'installation: invalid-settings; the check chooses a value',
  'a downgrade': 'installation and doctor',
  'a forgotten yield*': 'host',
  'a forgotten yield* before a generator function of the module': 'linter: cli/test/commands/module-new',
  'a response with an undeclared status or another body': 'types',
  'prefix theft: GET /cart/total, GET /cart/item/mine': 'host',
  'setErrorHandler at the root': 'host',
  WebSockets: 'host',
  'onEngines(test) that does not compile': 'types',
}
