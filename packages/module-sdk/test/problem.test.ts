import { type TSchema, Type } from '@sinclair/typebox'
import t from 'tap'
import { defineProblems, Problem } from '../src/problem.ts'

const problems = defineProblems('api-note', {
  'note-locked': { status: 409, title: 'The note is locked' },
  'note-full': { status: 409, title: 'The note is full' },
  'note-not-found': { status: 404, title: 'There is no such note' },
})

t.test('a problem becomes problem details of RFC 9457, members of its own included', async (t) => {
  const problem = problems.create('note-locked', 'Locked until noon.', {
    members: { until: 'noon', status: 200, requestId: 'mine' },
    headers: { 'retry-after': '60' },
  })
  t.ok(problem instanceof Problem)
  t.ok(problem instanceof Error)
  t.same(problem.headers, { 'retry-after': '60' })
  t.same(problem.toDetails('r-1'), {
    type: 'urn:problem-type:api-note:note-locked',
    title: 'The note is locked',
    status: 409,
    code: 'note-locked',
    detail: 'Locked until noon.',
    until: 'noon',
    requestId: 'r-1',
  })
})

t.test('responses are grouped by status, and say which codes they have', async (t) => {
  const responses = problems.responses('note-locked', 'note-full', 'note-not-found')
  t.same(Object.keys(responses), ['404', '409'])
  t.match(responses[409], {
    description: '`note-locked`: The note is locked; `note-full`: The note is full',
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: 'Problem#' }, { properties: { code: { enum: ['note-locked', 'note-full'] } } }],
        },
      },
    },
  })
})

t.test('a problem with members of its own is a form of its own', async (t) => {
  const { responses } = defineProblems('note', {
    plain: { status: 409, title: 'Plain' },
    moved: { status: 409, title: 'Moved', members: { to: Type.String() } },
  })
  const conflict = responses('plain', 'moved')[409] as TSchema
  const [, { anyOf }] = conflict.content['application/problem+json'].schema.allOf
  t.match(anyOf, [
    { properties: { code: { enum: ['plain'] } } },
    { required: ['code', 'to'], properties: { code: { const: 'moved' }, to: { type: 'string' } } },
  ])
})
