import { join } from 'node:path'
import type { Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { copiesOf, type TestApplication } from './run-app.ts'

/** What was prepared, by the way back of version 2 and by what is installed. */
const prepared = new Map<string, (t: Test) => Promise<TestApplication>>()

/**
 * An application, and a module with a table; version 2 adds a column, with or without a way back.
 * @param installed the versions that are installed, one after the other, when the test begins
 */
export async function noteVersions(t: Test, down: string | undefined, ...installed: ('v1' | 'v2')[]) {
  const key = [down, ...installed].join()
  const copy = prepared.get(key) ?? copiesOf((application) => install(application, down, installed))
  prepared.set(key, copy)
  const application = await copy(t)
  return { ...application, ...filesIn(application.root) }
}

async function install(application: TestApplication, down: string | undefined, installed: ('v1' | 'v2')[]) {
  const files = await versionsOfNote(application, down)
  for (const version of installed) {
    const { exitCode, stdout } = await application.run('module-install', '--yes', files[version])
    if (exitCode !== 0) throw new Error(stdout)
  }
}

const fileIn = (root: string, version: string) => join(root, `note-${version}.tgz`)
const filesIn = (root: string) => ({ v1: fileIn(root, '1.0.0'), v2: fileIn(root, '2.0.0') })

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
    sampleTarball(fileIn(root, version), {
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
