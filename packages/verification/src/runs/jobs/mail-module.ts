import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes a module with POST /mail, which stores a job; the job sends its number and its process to `receiver`. */
export async function writeMailModule(folder: string, receiver: string): Promise<string> {
  await mkdir(join(folder, 'dist'), { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({
      name: 'mail',
      version: '1.0.0',
      type: 'module',
      exports: './dist/index.js',
      peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '*' },
      mortise: { id: 'mail', host: '*', routes: ['POST /mail'] },
    }),
  )
  await writeFile(
    join(folder, 'dist', 'index.js'),
    `
    import { respond, defineModule } from '@mortise/module-sdk'
    import { Type } from '@sinclair/typebox'

    export default defineModule('mail').plugin(async (app, { work }) => {
      const mail = work('mail', { timeout: 10_000 }, async ({ id, data, signal }) => {
        const body = JSON.stringify({ id, number: data.number, pid: process.pid })
        const response = await fetch('${receiver}', { method: 'POST', body, signal })
        if (!response.ok) throw new Error('refused')
      })
      app.post('/mail', {
        config: { access: 'public' },
        schema: { body: Type.Object({ number: Type.Integer(), fails: Type.Boolean() }) },
      }, (request) => request.transaction(function* () {
        yield* mail.add({ number: request.body.number })
        if (request.body.fails) throw new Error('on purpose')
        return respond(202, {})
      }))
    })`,
  )
  return folder
}
