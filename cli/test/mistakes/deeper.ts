// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates of the planted code
import type { Mistake } from './mistakes.ts'

// What looks right, and passes its author's tests: planted in the module of shelf.ts.

const id = 'Type.Object({ id: Type.String() })'
const route = (more = '', response = id, access = 'config') =>
  `{ ${access}, schema: { summary: 'x', response: { 200: ${response}, ...responses('book-not-found') }, ${more} } }`
const get = (path: string, handler: string, more = '', response = id, access = 'config') =>
  `app.get('${path}', ${route(more, response, access)}, ${handler})`
const post = (path: string, steps: string, body: string, access = 'config') =>
  `app.post('${path}', ${route(`body: ${body}`, id, access)}, (request) => request.transaction(function* () { ${steps} }))`
const everybody = "config: { access: 'public' }"
const table = (number: string, name: string, columns: string) => ({
  [`migrations/${number}-${name}.sql`]: `CREATE TABLE shelf_${name} (id TEXT PRIMARY KEY, ${columns});`,
  [`migrations/${number}-${name}.down.sql`]: `DROP TABLE shelf_${name};`,
})
const claimOf = (name: string) =>
  `yield* run(sql\`UPDATE shelf_${name} SET owner = \${user} WHERE owner = \${guest}\`)`
/** A mistake of one route, with its rule and the code. */
const at = (
  name: string,
  rule: string,
  path: string,
  body: string,
  more: Partial<Mistake> = {},
): Mistake => ({
  ...{ name, rule, where: `${path} (index.js:`, body, routes: [path] },
  ...more,
})

const withKey = {
  config: {
    type: 'object',
    additionalProperties: false,
    required: ['room', 'apiKey'],
    properties: { room: { type: 'integer', minimum: 1, default: 100 }, apiKey: { type: 'string' } },
  },
}
const docs = `
  const Doc = Type.Object({ id: Type.String(), title: Type.String(), stars: Type.Integer(), version: Type.Integer() })
  app.post('/shelf-doc', { config, schema: { summary: 'x', body: NewBook, response: { 201: Doc } } }, (request) => request.transaction(function* () {
    const doc = { id: newId('doc'), title: request.body.title, stars: 0, version: 1 }
    yield* run(sql\`INSERT INTO shelf_doc (id, owner, title, stars, version) VALUES (\${doc.id}, \${request.caller.id}, \${doc.title}, 0, 1)\`)
    return respond(201, doc, { location: \`/shelf-doc/\${doc.id}\` })
  }))
  app.get('/shelf-doc/:id', { config, schema: { summary: 'x', params: IdParams, response: { 200: Doc, ...responses('book-not-found') } } }, async ({ caller, params }) => {
    const found = await database.maybeOne(sql\`SELECT id, title, stars, version FROM shelf_doc WHERE id = \${params.id} AND owner = \${caller.id}\`)
    if (!found) throw problem('book-not-found')
    return found
  })`
const docTable = {
  'migrations/003-doc.sql':
    'CREATE TABLE shelf_doc (id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, stars BIGINT NOT NULL, version BIGINT NOT NULL);\nCREATE INDEX shelf_doc_of_owner ON shelf_doc (owner, id);',
  'migrations/003-doc.down.sql': 'DROP TABLE shelf_doc;',
}
const docChange = (method: string, path: string, set: string, body = 'NewBook') =>
  `app.${method}('${path}', ${route(`params: IdParams, body: ${body}`)}, (request) => request.transaction(function* () {
    const changed = yield* run(sql\`UPDATE shelf_doc SET ${set} WHERE id = \${request.params.id} AND owner = \${request.caller.id}\`)
    if (changed === 0) throw problem('book-not-found')
    return { id: request.params.id }
  }))`
const starsOf = (path: string, declared = '') =>
  get(
    path,
    `async ({ caller }) => database.one(sql\`SELECT CAST(coalesce(sum(stars + length(title)), 0) AS BIGINT) AS stars FROM shelf_doc WHERE owner = \${caller.id}\`${declared})`,
    '',
    'Type.Object({ stars: Type.Integer() })',
  )
const claimDocs = {
  'yield* run(sql`DELETE FROM shelf_filled WHERE owner = ${guest}`)': `yield* run(sql\`DELETE FROM shelf_filled WHERE owner = \${guest}\`)\n    ${claimOf('doc')}`,
}
const migration = (
  name: string,
  rule: string,
  where: string,
  up: string,
  down: string,
): readonly Mistake[] => [
  { name, rule, where, files: { 'migrations/003-x.sql': up, 'migrations/003-x.down.sql': down } },
]
const rebuilt = (columns: string, from: string) => `
  CREATE TABLE shelf_new (id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, x TEXT);
  INSERT INTO shelf_new (${columns}) ${from};
  DROP TABLE shelf;
  ALTER TABLE shelf_new RENAME TO shelf;
  CREATE INDEX shelf_of_owner ON shelf (owner, id);`
const dropX = 'ALTER TABLE shelf DROP COLUMN x;'

export const deeper: readonly (readonly Mistake[])[] = [
  [
    at(
      'a JOIN without the owner',
      'foreign-row',
      'GET /shelf-loan',
      `${post('/shelf-loan', "const id = newId('loan'); yield* run(sql`INSERT INTO shelf_loan (id, owner, book) VALUES (${id}, ${request.caller.id}, ${request.body.bookId})`); return { id }", 'Strict({ bookId: Type.String() })')}
      ${get('/shelf-loan', 'async ({ caller }) => ({ data: await database.many(sql`SELECT loan.id, shelf.title FROM shelf_loan AS loan JOIN shelf ON shelf.id = loan.book WHERE loan.owner = ${caller.id} ORDER BY loan.id LIMIT 50`) })', '', 'List(Book)')}`,
      {
        // No loan has a book, so the LIMIT is never reached.
        also: ['long-read'],
        routes: ['GET /shelf-loan', 'POST /shelf-loan'],
        files: {
          ...table('003', 'loan', 'owner TEXT NOT NULL, book TEXT NOT NULL'),
          'migrations/003-loan.sql':
            'CREATE TABLE shelf_loan (id TEXT PRIMARY KEY, owner TEXT NOT NULL, book TEXT NOT NULL); CREATE INDEX shelf_loan_of_owner ON shelf_loan (owner, id);',
        },
        replace: {
          'yield* run(sql`DELETE FROM shelf_filled WHERE owner = ${guest}`)': `yield* run(sql\`DELETE FROM shelf_filled WHERE owner = \${guest}\`)\n    ${claimOf('loan')}`,
        },
      },
    ),
    at(
      'a reference in the body that is returned',
      'foreign-id',
      'POST /shelf-copy',
      `app.post('/shelf-copy', ${route('body: Strict({ bookId: Type.String() })', 'Book')}, (request) => request.transaction(function* () {
        const found = yield* maybeOne(sql\`SELECT id, title FROM shelf WHERE id = \${request.body.bookId}\`)
        if (!found) throw problem('book-not-found')
        return { id: newId('copy'), title: found.title }
      }))`,
    ),
    at(
      'a reference in the body that shows what exists',
      'foreign-id',
      'POST /shelf-mark',
      post(
        '/shelf-mark',
        "const { count } = yield* one(sql`SELECT count(*) AS count FROM shelf WHERE id = ${request.body.id}`); if (count === 0) throw problem('book-not-found'); return { id: newId('mark') }",
        'Strict({ id: Type.String() })',
      ),
    ),
    at(
      'a count over all callers',
      'foreign-count',
      'GET /shelf-count',
      get(
        '/shelf-count',
        'async () => ({ count: (await database.one(sql`SELECT count(*) AS count FROM shelf`)).count })',
        '',
        'Type.Object({ count: Type.Integer() })',
      ),
    ),
    at(
      'a sum over all callers',
      'foreign-count',
      'GET /shelf-length',
      get(
        '/shelf-length',
        'async () => ({ letters: Number((await database.one(sql`SELECT CAST(sum(length(title)) AS BIGINT) AS letters FROM shelf`, { long: true })).letters ?? 0) })',
        '',
        'Type.Object({ letters: Type.Integer() })',
      ),
    ),
    at(
      'a total over all callers beside own rows',
      'foreign-count',
      'GET /shelf-page',
      get(
        '/shelf-page',
        'async ({ caller }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} ORDER BY id LIMIT 20`), total: (await database.one(sql`SELECT count(*) AS count FROM shelf`)).count })',
        '',
        'Type.Object({ data: Type.Array(Book), total: Type.Integer() })',
      ),
    ),
    at(
      'another detail for the id of another user',
      'foreign-id',
      'GET /shelf/:id/detail',
      get(
        '/shelf/:id/detail',
        "async ({ caller, params }) => { const found = await database.maybeOne(sql`SELECT id, owner FROM shelf WHERE id = ${params.id}`); if (!found) throw problem('book-not-found'); if (found.owner !== caller.id) throw problem('book-not-found', 'It is on the shelf of another user.'); return found }",
        'params: IdParams',
      ),
      { why: /by "detail"/ },
    ),
  ],
  [
    at(
      'another header for the id of another user',
      'foreign-id',
      'GET /shelf/:id/header',
      get(
        '/shelf/:id/header',
        "async ({ caller, params }, reply) => { const found = await database.maybeOne(sql`SELECT id, owner FROM shelf WHERE id = ${params.id}`); if (found) reply.header('last-modified', 'Tue, 01 Jan 2030 00:00:00 GMT'); if (found?.owner !== caller.id) throw problem('book-not-found'); return found }",
        'params: IdParams',
      ),
      { why: /by the header "last-modified"/ },
    ),
    at(
      'more time for the id of another user',
      'foreign-id',
      'GET /shelf/:id/slow',
      get(
        '/shelf/:id/slow',
        "async ({ caller, params }) => { const found = await database.maybeOne(sql`SELECT id, owner FROM shelf WHERE id = ${params.id}`); if (found) await new Promise((resolve) => setTimeout(resolve, 60)); if (found?.owner !== caller.id) throw problem('book-not-found'); return found }",
        'params: IdParams',
      ),
      { why: /ms longer/ },
    ),
    at(
      'own data in public caches',
      'cacheable-response',
      'GET /shelf-cached',
      get(
        '/shelf-cached',
        "async ({ caller }, reply) => { reply.header('cache-control', 'public, max-age=60'); return { id: caller.id } }",
      ),
    ),
    at(
      'own data for five minutes',
      'cacheable-response',
      'GET /shelf/:id/cached',
      get(
        '/shelf/:id/cached',
        "async ({ caller, params }, reply) => { const found = await database.maybeOne(sql`SELECT id FROM shelf WHERE id = ${params.id} AND owner = ${caller.id}`); if (!found) throw problem('book-not-found'); reply.header('cache-control', 'max-age=300'); return found }",
        'params: IdParams',
      ),
    ),
    at(
      'LIMIT without ORDER BY',
      'limit-unordered',
      'GET /shelf-some',
      get(
        '/shelf-some',
        'async ({ caller }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} LIMIT 20`) })',
        '',
        'List(Book)',
      ),
    ),
    at(
      'LIMIT and OFFSET without ORDER BY',
      'limit-unordered',
      'GET /shelf-more',
      get(
        '/shelf-more',
        'async ({ caller, query }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} LIMIT ${10} OFFSET ${query.from ?? 0}`) })',
        'querystring: Strict({ from: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })) })',
        'List(Book)',
      ),
    ),
  ],
  [
    at(
      'the owner from the body',
      'mass-assignment',
      'POST /shelf-gift',
      post(
        '/shelf-gift',
        "const id = newId('gift'); yield* run(sql`INSERT INTO shelf_gift (id, owner, status, version) VALUES (${id}, ${request.body.owner ?? request.caller.id}, 'x', 1)`); return { id }",
        'Strict({ owner: Type.Optional(Type.String({ minLength: 1 })) })',
      ),
      {
        files: table('003', 'gift', 'owner TEXT NOT NULL, status TEXT NOT NULL, version BIGINT NOT NULL'),
        replace: {
          'yield* run(sql`DELETE FROM shelf_filled WHERE owner = ${guest}`)': `yield* run(sql\`DELETE FROM shelf_filled WHERE owner = \${guest}\`)\n    ${claimOf('gift')}`,
        },
      },
    ),
    at(
      'every field of the body into the row',
      'mass-assignment',
      'POST /shelf-open',
      post(
        '/shelf-open',
        "const row = { id: newId('gift'), owner: request.caller.id, status: 'new', ...request.body }; yield* run(sql`INSERT INTO shelf_gift (id, owner, status, version) VALUES (${row.id}, ${String(row.owner)}, ${row.status}, 1)`); return { id: row.id }",
        'Type.Object({ status: Type.Literal("new") })',
      ),
      { why: /"owner", which the schema of the body does not name/ },
    ),
    at(
      'the status as a text of the caller',
      'mass-assignment',
      'POST /shelf-state',
      post(
        '/shelf-state',
        "const id = newId('gift'); yield* run(sql`INSERT INTO shelf_gift (id, owner, status, version) VALUES (${id}, ${request.caller.id}, ${request.body.status}, 1)`); return { id }",
        'Strict({ status: Type.String({ minLength: 1 }) })',
      ),
    ),
    at(
      'the caller approves their own request',
      'mass-assignment',
      'POST /shelf-approve',
      post(
        '/shelf-approve',
        "const id = newId('gift'); yield* run(sql`INSERT INTO shelf_gift (id, owner, status, version) VALUES (${id}, ${request.caller.id}, ${request.body.status}, 1)`); return { id }",
        "Strict({ status: Type.Union([Type.Literal('asked'), Type.Literal('approved')]) })",
      ),
      { why: /"approved" is stored/ },
    ),
    at(
      'the version from the body',
      'mass-assignment',
      'POST /shelf-version',
      post(
        '/shelf-version',
        "const id = newId('gift'); yield* run(sql`INSERT INTO shelf_gift (id, owner, status, version) VALUES (${id}, ${request.caller.id}, 'new', ${request.body.version})`); return { id }",
        'Strict({ version: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }) })',
      ),
    ),
  ],
  [
    at(
      'LIKE with the text of the caller',
      'like-unescaped',
      'GET /shelf-search',
      get(
        '/shelf-search',
        'async ({ caller, query }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} AND title LIKE ${`%${query.text}%`} ORDER BY id LIMIT 20`) })',
        'querystring: Strict({ text: Type.String({ maxLength: 50 }) })',
        'List(Book)',
      ),
    ),
    at(
      'LIKE with the text of the caller, joined in SQL',
      'like-unescaped',
      'GET /shelf-begins',
      get(
        '/shelf-begins',
        "async ({ caller, query }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} AND lower(title) LIKE lower(CAST(${query.text} AS TEXT)) || '%' ORDER BY id LIMIT 20`) })",
        'querystring: Strict({ text: Type.String({ maxLength: 50 }) })',
        'List(Book)',
      ),
    ),
    at(
      'ORDER BY a column of the caller',
      'sql-injection',
      'GET /shelf-sorted',
      get(
        '/shelf-sorted',
        'async ({ caller, query }) => ({ data: await database.many(sql`SELECT id, title FROM shelf WHERE owner = ${caller.id} ORDER BY ${identifier(query.by ?? "id")} LIMIT 20`) })',
        'querystring: Strict({ by: Type.Optional(Type.String()) })',
        'List(Book)',
      ),
      {
        why: /in ORDER BY/,
        also: ['server-error'],
        replace: { 'import { respond,': 'import { identifier, respond,' },
      },
    ),
    at(
      'a WHERE that is put together',
      'sql-injection',
      'GET /shelf-where',
      get(
        '/shelf-where',
        "async ({ caller, query }) => { const text = [`SELECT id, title FROM shelf WHERE title = '${query.title}' AND owner = `, ' ORDER BY id LIMIT 20']; return { data: await database.many(sql(Object.assign(text, { raw: text }), caller.id)) } }",
        'querystring: Strict({ title: Type.String() })',
        'List(Book)',
      ),
      { also: ['server-error', 'foreign-row'] },
    ),
    at(
      'a write that is put together',
      'sql-injection',
      'POST /shelf-rename',
      post(
        '/shelf-rename',
        "const text = [`UPDATE shelf SET title = '${request.body.title}' WHERE owner = `, \" AND id = 'x'\"]; yield* run(sql(Object.assign(text, { raw: text }), request.caller.id)); return { id: 'x' }",
        'NewBook',
      ),
      { also: ['server-error'] },
    ),
    at(
      'a file whose name the caller sends',
      'path-traversal',
      'GET /shelf-cover',
      get(
        '/shelf-cover',
        "async ({ query }) => { const { readFile } = await import('node:fs/promises'); await readFile(new URL(import.meta.url).pathname + '/../covers/' + query.name).catch(() => {}); return { id: 'x' } }",
        'querystring: Strict({ name: Type.String() })',
      ),
      { where: 'index.js:' },
    ),
    at(
      'a file in a body that is opened',
      'path-traversal',
      'POST /shelf-file',
      `app.post('/shelf-file', ${route('body: Strict({ file: Type.String() })')}, async (request) => {
        const { createReadStream } = await import('node:fs')
        const { join } = await import('node:path')
        createReadStream(join(import.meta.dirname, 'files', request.body.file.replaceAll('\\0', ''))).on('error', () => {}).destroy()
        return request.transaction(function* () { return { id: 'x' } })
      })`,
      { where: 'index.js:' },
    ),
    at(
      'a call to an address of the caller',
      'address-from-input',
      'POST /shelf-fetch',
      `app.post('/shelf-fetch', ${route('body: Strict({ url: Type.String({ format: "uri" }) })')}, async (request) => {
        await fetch(request.body.url).catch(() => {})
        return request.transaction(function* () { return { id: 'x' } })
      })`,
      { where: 'index.js:' },
    ),
    at(
      'a job that calls an address of the caller',
      'address-from-input',
      'POST /shelf-hook',
      `const hook = work('hook', {}, async ({ data }) => { await fetch(data.url) })
      ${post('/shelf-hook', "yield* hook.add({ url: request.body.url }); return { id: 'x' }", 'Strict({ url: Type.String() })')}`,
      { where: 'index.js:' },
    ),
    at(
      'a connection to a host of the caller',
      'address-from-input',
      'POST /shelf-ping',
      `app.post('/shelf-ping', ${route('body: Strict({ host: Type.String() })')}, async (request) => {
        const { connect } = await import('node:net')
        const [host, port] = request.body.host.split(':')
        if (/^[0-9.]+$/.test(host) && port > 0 && port < 65536) connect(Number(port), host).on('error', () => {})
        return request.transaction(function* () { return { id: 'x' } })
      })`,
      { where: 'index.js:' },
    ),
  ],
  [
    at(
      'a public response that takes every field',
      'open-public-schema',
      'GET /shelf-public',
      get(
        '/shelf-public',
        "async () => ({ id: 'x', secret: 1 })",
        '',
        'Type.Object({ id: Type.String() }, { additionalProperties: true })',
        everybody,
      ),
    ),
    at(
      'anything inside of a public response',
      'open-public-schema',
      'GET /shelf-meta',
      get(
        '/shelf-meta',
        "async () => ({ id: 'x', meta: { a: 1 } })",
        '',
        'Type.Object({ id: Type.String(), meta: Type.Record(Type.String(), Type.Unknown()) })',
        everybody,
      ),
    ),
    at(
      'a public body that takes every field',
      'open-public-schema',
      'POST /shelf-any',
      `app.post('/shelf-any', ${route('body: Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: true })', id, everybody)}, async () => ({ id: 'x' }))`,
    ),
    at(
      'the owner for everybody',
      'public-field',
      'GET /shelf-latest',
      get(
        '/shelf-latest',
        'async () => ({ data: await database.many(sql`SELECT id, owner FROM shelf ORDER BY id DESC LIMIT 20`) })',
        '',
        'List(Type.Object({ id: Type.String(), owner: Type.String() }))',
        everybody,
      ),
    ),
    at(
      'a private field in a public schema that no response needs',
      'public-field',
      'GET /shelf-titles',
      get(
        '/shelf-titles',
        'async () => ({ data: await database.many(sql`SELECT id, title FROM shelf ORDER BY id DESC LIMIT 20`) })',
        '',
        'List(Type.Object({ id: Type.String(), title: Type.String(), email: Type.Optional(Type.String()) }))',
        everybody,
      ),
    ),
    {
      name: 'a secret setting that is shown',
      rule: 'open-secret',
      where: 'package.json',
      why: /"apiKey"/,
      manifest: withKey,
      replace: {
        'room: Type.Integer({ minimum: 1, default: 100 })':
          'room: Type.Integer({ minimum: 1, default: 100 }), apiKey: Type.String()',
      },
    },
    at(
      'a secret setting in a response',
      'secret-exposed',
      'GET /shelf-key',
      get('/shelf-key', 'async () => ({ id: settings.apiKey })'),
    ),
    at(
      'a secret setting in the log',
      'secret-exposed',
      'POST /shelf-log',
      `app.post('/shelf-log', ${route()}, async (request) => {
        request.log.info({ settings }, 'calling')
        return request.transaction(function* () { return { id: 'x' } })
      })`,
      { why: /a log line/ },
    ),
    at(
      'a secret setting in an event',
      'secret-exposed',
      'POST /shelf-expose',
      `app.post('/shelf-expose', ${route()}, (request) => request.transaction(function* () {
        yield* emit('shelf.exposed', { subject: request.caller.id, owner: request.caller.id, data: { text: 'with ' + settings.apiKey } })
        return { id: 'x' }
      }))`,
      {
        why: /event shelf\.exposed/,
        replace: { 'events: {\n': "events: {\n    'shelf.exposed': Type.Object({ text: Type.String() }),\n" },
        manifest: { ...withKey, events: ['shelf.filled', 'shelf.exposed'] },
      },
    ),
    at(
      'a row for each request of everybody',
      'unbounded-growth',
      'POST /shelf-sign',
      post(
        '/shelf-sign',
        "const id = newId('sign'); yield* run(sql`INSERT INTO shelf_sign (id, text) VALUES (${id}, ${request.body.title})`); return { id }",
        'NewBook',
        everybody,
      ),
      { files: table('003', 'sign', 'text TEXT NOT NULL') },
    ),
    at(
      'a row for each name that someone sends',
      'unbounded-growth',
      'PUT /shelf-vote/:id',
      `app.put('/shelf-vote/:id', ${route('params: Strict({ id: Type.String({ pattern: "^[a-z0-9-]{1,40}$" }) }), body: Strict({ vote: Type.Integer({ maximum: 9, minimum: 0 }) })', id, everybody)}, (request) => request.transaction(function* () {
        yield* run(sql\`INSERT INTO shelf_vote (id, vote) VALUES (\${request.params.id}, \${request.body.vote}) ON CONFLICT (id) DO UPDATE SET vote = excluded.vote\`)
        return { id: request.params.id }
      }))`,
      { files: table('004', 'vote', 'vote BIGINT NOT NULL') },
    ),
  ],
  [
    at(
      'a counter beside the transaction',
      'effect-repeats',
      'POST /shelf-one',
      `let total = 0\n  ${post('/shelf-one', "total += 1; yield* run(sql`UPDATE shelf_filled SET count = 1 WHERE owner = ${request.caller.id}`); return { id: 'x' }", 'NewBook')}`,
      { where: 'index.js:', why: /"total"/ },
    ),
    at(
      'a list in memory that a transaction fills',
      'effect-repeats',
      'POST /shelf-two',
      `const seen = []\n  ${post('/shelf-two', "seen.push(request.body.title); yield* run(sql`UPDATE shelf_filled SET count = 1 WHERE owner = ${request.caller.id}`); return { id: 'x' }", 'NewBook')}`,
      { where: 'index.js:', why: /seen\.push/ },
    ),
    at(
      'a timer in a transaction',
      'effect-repeats',
      'POST /shelf-three',
      post(
        '/shelf-three',
        "setTimeout(() => {}, 1); yield* run(sql`UPDATE shelf_filled SET count = 1 WHERE owner = ${request.caller.id}`); return { id: 'x' }",
        'NewBook',
      ),
      { where: 'index.js:', why: /setTimeout/ },
    ),
    at(
      'a PATCH that keeps the version',
      'version-kept',
      'PATCH /shelf-doc/:id',
      `${docs}\n  ${docChange('patch', '/shelf-doc/:id', 'title = ${request.body.title}')}`,
      {
        files: docTable,
        replace: claimDocs,
        routes: ['POST /shelf-doc', 'GET /shelf-doc/:id', 'PATCH /shelf-doc/:id'],
      },
    ),
    at(
      'an action that keeps the version',
      'version-kept',
      'POST /shelf-doc/:id/star',
      docChange('post', '/shelf-doc/:id/star', 'stars = stars + 1', 'Strict({})'),
    ),
    at(
      'a sort that no index has',
      'sort-without-index',
      'GET /shelf-doc-by-title',
      get(
        '/shelf-doc-by-title',
        'async ({ caller }) => ({ data: await database.many(sql`SELECT id, title FROM shelf_doc WHERE owner = ${caller.id} ORDER BY title, id LIMIT 20`) })',
        '',
        'List(Book)',
      ),
    ),
    at(
      'a function around the indexed column',
      'full-scan',
      'GET /shelf-doc-mine',
      get(
        '/shelf-doc-mine',
        'async ({ caller }) => ({ data: await database.many(sql`SELECT id, title FROM shelf_doc WHERE lower(owner) = lower(${caller.id}) ORDER BY title LIMIT 20`) })',
        '',
        'List(Book)',
      ),
      { also: ['sort-without-index'] },
    ),
    at(
      'a search by a column without an index',
      'full-scan',
      'GET /shelf-doc-titled',
      get(
        '/shelf-doc-titled',
        "async ({ caller, query }) => ({ data: await database.many(sql`SELECT id, title FROM shelf_doc WHERE title = ${query.title} AND owner || '' = ${caller.id} ORDER BY title LIMIT 20`) })",
        'querystring: Strict({ title: Type.String() })',
        'List(Book)',
      ),
    ),
    at(
      'a sum over all rows of a caller',
      'long-read',
      'GET /shelf-doc-stars',
      `${starsOf('/shelf-doc-stars')}
      ${starsOf('/shelf-doc-stars-declared', ', { long: true }')}
      ${get(
        '/shelf-doc-some',
        'async ({ caller }) => database.one(sql`SELECT count(*) AS stars FROM (SELECT 1 FROM shelf_doc WHERE owner = ${caller.id} LIMIT 1001) AS some`)',
        '',
        'Type.Object({ stars: Type.Integer() })',
      )}`,
      { routes: ['GET /shelf-doc-stars', 'GET /shelf-doc-stars-declared', 'GET /shelf-doc-some'] },
    ),
    at(
      'a search in all texts of a caller, in a snapshot',
      'long-read',
      'GET /shelf-doc-found',
      get(
        '/shelf-doc-found',
        "async ({ caller }) => ({ data: await database.snapshot(() => many(sql`SELECT id, title FROM shelf_doc WHERE owner = ${caller.id} AND instr(lower(title), 'tea') > 0 ORDER BY id LIMIT 20`)) })",
        '',
        'List(Book)',
      ),
    ),
    at(
      'a number that is read before the transaction',
      'lost-update',
      'POST /shelf-doc/:id/cheer',
      `app.post('/shelf-doc/:id/cheer', ${route('params: IdParams')}, async (request) => {
        const { params: { id }, caller } = request
        const doc = await database.maybeOne(sql\`SELECT stars FROM shelf_doc WHERE id = \${id} AND owner = \${caller.id}\`)
        if (!doc) throw problem('book-not-found')
        return request.transaction(function* () {
          yield* run(sql\`UPDATE shelf_doc SET stars = \${doc.stars + 1}, version = version + 1 WHERE id = \${id} AND owner = \${caller.id}\`)
          return { id }
        })
      })`,
    ),
    at(
      'a limit that is looked at before the transaction',
      'lost-update',
      'POST /shelf-limited',
      `app.post('/shelf-limited', ${route('body: NewBook')}, async (request) => {
        const { count } = await database.one(sql\`SELECT count(*) AS count FROM shelf_doc WHERE owner = \${request.caller.id}\`)
        if (count > 1000) throw problem('book-not-found')
        return request.transaction(function* () {
          const id = newId('doc')
          yield* run(sql\`INSERT INTO shelf_doc (id, owner, title, stars, version) VALUES (\${id}, \${request.caller.id}, \${request.body.title}, 0, 1)\`)
          return { id }
        })
      })`,
    ),
  ],
  [
    at(
      'a job that pays without its id',
      'job-without-id',
      'POST /shelf-pay',
      `const pay = work('pay', {}, async ({ data }) => { await fetch('https://pay.example.com/charge', { method: 'POST', body: JSON.stringify(data) }) })
      ${post('/shelf-pay', "yield* pay.add({ title: request.body.title }); return { id: 'x' }", 'NewBook')}`,
      { where: 'index.js:', why: /pay\.example\.com/ },
    ),
    at(
      'a job that sends without its id',
      'job-without-id',
      'POST /shelf-mail',
      `const mail = work('mail', {}, async ({ data }) => {
        await fetch(new Request('https://mail.example.com/send', { method: 'POST', headers: { authorization: 'Bearer x' } }))
      })
      ${post('/shelf-mail', "yield* mail.add({ title: request.body.title }); return { id: 'x' }", 'NewBook')}`,
      { where: 'index.js:', why: /mail\.example\.com/ },
    ),
    {
      name: 'regular work that always has more to do',
      rule: 'endless-work',
      where: 'everyMinute "count" (index.js:',
      body: "everyMinute('count', function* () { yield* run(sql`UPDATE shelf_filled SET count = count + 0`); return true })",
    },
    {
      name: 'regular work that takes the same rows again',
      rule: 'endless-work',
      where: 'everyMinute "look" (index.js:',
      body: "everyMinute('look', function* () { const rows = yield* many(sql`SELECT id FROM shelf ORDER BY id LIMIT 10`); yield* run(sql`UPDATE shelf SET title = title WHERE id = ${rows[0]?.id ?? 'x'}`); return rows.length === 10 })",
    },
    at(
      'an exponential pattern in a schema',
      'slow-pattern',
      'POST /shelf-pattern',
      post(
        '/shelf-pattern',
        "return { id: 'x' }",
        "Strict({ tags: Type.String({ pattern: '^([a-z]+,?)+$', maxLength: 200 }) })",
      ),
    ),
    {
      name: 'an exponential pattern in the code',
      rule: 'slow-pattern',
      where: 'index.js:',
      why: /\\w\+\\s\?/,
      body: 'const words = /^(\\w+\\s?)*$/',
    },
    {
      name: 'an exponential pattern that is put together',
      rule: 'slow-pattern',
      where: 'index.js:',
      why: /a\|aa/,
      body: "const letters = new RegExp('^(a|aa)+$')",
    },
  ],
  [
    {
      name: 'rows of a guest that stay behind',
      rule: 'claim-missing',
      where: 'table shelf',
      replace: { 'onClaim(function*': 'void (function*' },
    },
  ],
  migration(
    'rows that are not copied',
    'migration-loses-rows',
    'migrations/003-x.sql',
    rebuilt(
      'id, owner, title',
      'SELECT min(id), owner, title FROM shelf GROUP BY owner, title HAVING length(title) < 4',
    ),
    dropX,
  ),
  migration(
    'columns that change places',
    'migration-loses-rows',
    'migrations/003-x.sql',
    rebuilt('id, title, owner', 'SELECT id, owner, title FROM shelf'),
    dropX,
  ),
  migration(
    'a down that undoes nothing',
    'migration-fails',
    'migrations/003-x.down.sql',
    'CREATE INDEX IF NOT EXISTS shelf_by_title ON shelf (title);',
    'SELECT 1;',
  ),
  migration(
    'a down that empties the table',
    'migration-loses-rows',
    'migrations/003-x.down.sql',
    'ALTER TABLE shelf ADD COLUMN x TEXT;',
    `DELETE FROM shelf; ${dropX}`,
  ),
  migration(
    'the time in a migration',
    'migration-varies',
    'migrations/003-x.sql',
    'ALTER TABLE shelf ADD COLUMN x TEXT; UPDATE shelf SET x = CAST(CURRENT_TIMESTAMP AS TEXT);',
    dropX,
  ),
  [
    {
      name: 'chance in a migration',
      rule: 'migration-varies',
      where: 'migrations/003-x.sqlite.sql',
      files: {
        'migrations/003-x.sqlite.sql':
          'ALTER TABLE shelf ADD COLUMN x TEXT; UPDATE shelf SET x = hex(randomblob(8));',
        'migrations/003-x.postgres.sql': "ALTER TABLE shelf ADD COLUMN x TEXT; UPDATE shelf SET x = 'x';",
        'migrations/003-x.sqlite.down.sql': dropX,
        'migrations/003-x.postgres.down.sql': dropX,
      },
    },
  ],
]
