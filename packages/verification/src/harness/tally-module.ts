import { moduleJson, writeFiles } from './write-files.ts'

/** @param listens whether it hears of what it shows */
const filesOf = (listens: boolean) => ({
  'package.json': moduleJson('tally', '1.0.0', {
    routes: ['GET /tally', 'POST /tally'],
    tables: 'tally',
    migrations: 'migrations',
    events: ['tally.raised'],
    ...(listens && { listensTo: ['tally.raised'] }),
  }),
  'migrations/001-tally.sql': `
    CREATE TABLE tally (subject TEXT PRIMARY KEY, value BIGINT NOT NULL);
    CREATE TABLE tally_heard (subject TEXT PRIMARY KEY, value BIGINT NOT NULL);
    CREATE TABLE tally_wrong (subject TEXT NOT NULL, value BIGINT NOT NULL);`,
  'migrations/001-tally.down.sql': 'DROP TABLE tally_wrong; DROP TABLE tally_heard; DROP TABLE tally;',
  'dist/index.js': `
    import { respond, defineModule, one, run, sql } from '@mortise/module-sdk'
    import { Type } from '@sinclair/typebox'

    const { emit, plugin } = defineModule('tally', {
      events: { 'tally.raised': Type.Object({ value: Type.Integer() }) },
    })
    const Subjects = Type.Array(Type.String())

    export default plugin(async (app, { database, on }) => {
      ${listens ? '' : 'on = () => {}'}
      on('tally.raised', function* ({ subject, data: { value } }) {
        const next = value === 1
          ? sql\`INSERT INTO tally_heard (subject, value) VALUES (\${subject}, 1) ON CONFLICT DO NOTHING\`
          : sql\`UPDATE tally_heard SET value = \${value} WHERE subject = \${subject} AND value = \${value - 1}\`
        if ((yield* run(next)) === 1) return
        yield* run(sql\`INSERT INTO tally_wrong (subject, value) VALUES (\${subject}, \${value})\`)
      })
      app.post('/tally', {
        config: { access: 'public' },
        schema: { body: Type.Object({ subjects: Subjects, fails: Type.Boolean(), silent: Type.Optional(Type.Boolean()) }) },
      }, (request) => request.transaction(function* () {
        for (const subject of request.body.subjects) {
          const { value } = yield* one(sql\`
            INSERT INTO tally (subject, value) VALUES (\${subject}, 1)
            ON CONFLICT (subject) DO UPDATE SET value = tally.value + 1 RETURNING value\`)
          if (!request.body.silent) yield* emit('tally.raised', { subject, data: { value } })
        }
        if (request.body.fails) throw new Error('on purpose')
        return respond(200, {})
      }))
      app.get('/tally', { config: { access: 'public' } }, () => database.one(sql\`
        SELECT (SELECT coalesce(sum(value), 0) FROM tally) AS raised,
          (SELECT coalesce(sum(value), 0) FROM tally_heard) AS heard\`))
    })`,
})

/**
 * Writes a module that raises counters and reports it, and that hears of it: `tally_heard` keeps up with `tally` exactly
 * if each event is heard once and in order; whatever else is heard is in `tally_wrong`.
 */
export const writeTallyModule = (folder: string, { listens = true } = {}): Promise<string> =>
  writeFiles(folder, filesOf(listens))
