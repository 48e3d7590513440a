import { join } from 'node:path'
import type { Test } from 'tap'
import { type TestApplication, testApplication } from './run-app.ts'
import { sampleTarball } from './sample-module.ts'

/** An application, and a module with a table; version 2 adds a column, with or without a way back. */
export async function noteVersions(t: Test, down: string | undefined) {
  const application = await testApplication(t)
  return { ...application, ...(await versionsOfNote(application, down)) }
}

/** The two versions, as files beside the application. */
export async function versionsOfNote({ root }: TestApplication, down: string | undefined) {
  const first = {
    'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)',
    'migrations/001-note.down.sql': 'DROP TABLE note',
  }
  const second = {
    ...first,
    'migrations/002-colour.sql': "ALTER TABLE note ADD COLUMN colour TEXT DEFAULT 'none'",
    ...(down && { 'migrations/002-colour.down.sql': down }),
  }
  const note = (version: string, files: Record<string, string>) =>
    sampleTarball(join(root, `note-${version}.tgz`), {
      id: 'note',
      version,
      manifest: { tables: 'note', migrations: 'migrations', routes: ['GET /note', 'POST /note'] },
      files,
      main: `import { defineModule, sql, run } from '@mortise/module-sdk'
        export default defineModule('note').plugin(async (app, { database }) => {
          const config = { access: 'public' }
          app.get('/note', { config }, async () => ({ version: '${version}', notes: await database.many(sql\`SELECT * FROM note\`) }))
          app.post('/note', { config }, async () => {
            await database.transaction(() => run(sql\`INSERT INTO note (body) VALUES ('kept')\`))
            return {}
          })
        })`,
    })
  return { v1: await note('1.0.0', first), v2: await note('2.0.0', second) }
}
