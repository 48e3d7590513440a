/** A module without mistakes: books of the caller. */
export const shelf: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify(
    {
      name: '@acme/shelf',
      version: '1.0.0',
      license: 'MIT',
      type: 'module',
      exports: './index.js',
      files: ['*.js', 'migrations'],
      peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '^0.34.52' },
      mortise: {
        id: 'shelf',
        host: '^1.0.0',
        routes: ['GET /shelf', 'POST /shelf', 'GET /shelf/:id', 'PATCH /shelf/:id', 'DELETE /shelf/:id'],
        tables: 'shelf',
        migrations: 'migrations',
        config: {
          additionalProperties: false,
          type: 'object',
          required: ['room'],
          properties: { room: { minimum: 1, default: 100, type: 'integer' } },
        },
        events: ['shelf.filled'],
        listensTo: ['shelf.filled'],
      },
    },
    null,
    2,
  ),
  'migrations/001-shelf.sql': `CREATE TABLE shelf (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  title TEXT NOT NULL
);
CREATE INDEX shelf_of_owner ON shelf (owner, id);
`,
  'migrations/001-shelf.down.sql': 'DROP TABLE shelf;\n',
  'migrations/002-filled.sql': 'CREATE TABLE shelf_filled (owner TEXT PRIMARY KEY, count BIGINT NOT NULL);\n',
  'migrations/002-filled.down.sql': 'DROP TABLE shelf_filled;\n',
  'index.js': `import { respond, Deleted, defineModule, Id, IdParams, List, many, maybeOne, newId, one, run, Strict, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const NewBook = Strict({ title: Type.String({ minLength: 1, maxLength: 100 }) }, { title: 'NewBook' })
const Book = Type.Object({ id: Id('book'), title: Type.String() }, { title: 'Book' })
const config = { access: 'caller' }

const { emit, plugin, problem, responses } = defineModule('shelf', {
  settings: Strict({ room: Type.Integer({ minimum: 1, default: 100 }) }),
  events: {
    'shelf.filled': Type.Object({ count: Type.Integer() }),
  },
  problems: {
    'book-not-found': { status: 404, title: 'There is no such book', detail: 'GET /shelf lists your books.' },
    'shelf-full': { status: 409, title: 'The shelf is full', detail: 'Remove a book first.' },
  },
})

export default plugin(async (app, { contracts, database, everyMinute, on, onClaim, settings, work }) => {
  const book = { params: IdParams, response: { 200: Book, ...responses('book-not-found') } }

  on('shelf.filled', function* ({ owner, data }) {
    yield* run(sql\`
      INSERT INTO shelf_filled (owner, count) VALUES (\${owner}, \${data.count})
      ON CONFLICT (owner) DO UPDATE SET count = excluded.count\`)
  })

  onClaim(function* ({ guest, user }) {
    yield* run(sql\`UPDATE shelf SET owner = \${user} WHERE owner = \${guest}\`)
    yield* run(sql\`DELETE FROM shelf_filled WHERE owner = \${guest}\`)
  })

  app.get('/shelf', { config, schema: { summary: 'List books', response: { 200: List(Book) } } }, async ({ caller }) => ({
    data: await database.many(sql\`SELECT id, title FROM shelf WHERE owner = \${caller.id} ORDER BY id\`),
  }))

  app.post(
    '/shelf',
    { config, schema: { summary: 'Add a book', body: NewBook, response: { 201: Book, ...responses('shelf-full') } } },
    (request) =>
      request.transaction(function* () {
        const owner = request.caller.id
        const { count } = yield* one(sql\`SELECT count(*) AS count FROM shelf WHERE owner = \${owner}\`)
        if (count >= settings.room) throw problem('shelf-full')
        const added = { id: newId('book'), title: request.body.title }
        yield* run(sql\`INSERT INTO shelf (id, owner, title) VALUES (\${added.id}, \${owner}, \${added.title})\`)
        yield* emit('shelf.filled', { subject: owner, owner, data: { count: count + 1 } })
        return respond(201, added, { location: \`/shelf/\${added.id}\` })
      }),
  )

  app.get('/shelf/:id', { config, schema: { summary: 'Get a book', ...book } }, async ({ caller, params }) => {
    const found = await database.maybeOne(sql\`SELECT id, title FROM shelf WHERE id = \${params.id} AND owner = \${caller.id}\`)
    if (!found) throw problem('book-not-found')
    return found
  })

  app.patch('/shelf/:id', { config, schema: { summary: 'Change a book', body: NewBook, ...book } }, (request) =>
    request.transaction(function* () {
      const { id } = request.params
      const changed = yield* run(sql\`UPDATE shelf SET title = \${request.body.title} WHERE id = \${id} AND owner = \${request.caller.id}\`)
      if (changed === 0) throw problem('book-not-found')
      return { id, title: request.body.title }
    }),
  )

  app.delete(
    '/shelf/:id',
    { config, schema: { summary: 'Remove a book', ...book, response: { ...book.response, 200: Deleted } } },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        const removed = yield* run(sql\`DELETE FROM shelf WHERE id = \${id} AND owner = \${request.caller.id}\`)
        if (removed === 0) throw problem('book-not-found')
        return { id, deleted: true }
      }),
  )

  // more
})
`,
}
