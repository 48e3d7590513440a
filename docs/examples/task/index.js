import { defineModule, Id, List, newId, respond, run, Strict, sql } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const NewTask = Strict({ text: Type.String({ minLength: 1, maxLength: 200 }) }, { title: 'NewTask' })
const Task = Type.Object({ id: Id('task'), text: Type.String() }, { title: 'Task' })

export default defineModule('task').plugin(async (app, { database, onClaim }) => {
  const config = { access: 'caller' }

  app.get(
    '/task',
    {
      config,
      schema: { summary: 'The first tasks of the caller, oldest first', response: { 200: List(Task) } },
    },
    async ({ caller }) => ({
      data: await database.many(
        sql`SELECT id, text FROM task WHERE owner = ${caller.id} ORDER BY id LIMIT 100`,
      ),
    }),
  )

  app.post(
    '/task',
    { config, schema: { summary: 'Add a task', body: NewTask, response: { 201: Task } } },
    (request) =>
      request.transaction(function* () {
        const task = { id: newId('task'), text: request.body.text }
        yield* run(sql`
          INSERT INTO task (id, owner, text) VALUES (${task.id}, ${request.caller.id}, ${task.text})`)
        return respond(201, task)
      }),
  )

  onClaim(function* ({ guest, user }) {
    yield* run(sql`UPDATE task SET owner = ${user} WHERE owner = ${guest}`)
  })
})
