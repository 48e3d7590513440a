import { DatabaseError } from '@mortise/module-sdk'
import t from 'tap'
import { BrokenStorageError, MigrationError } from '../../src/port/errors.ts'
import { deserializeError, serializeError } from '../../src/sqlite/serialized-error.ts'

const carried = (error: Error) => deserializeError(structuredClone(serializeError(error)))

t.test('an error keeps its class, its kind, its words and its file from one thread to another', async (t) => {
  const full = Object.assign(new DatabaseError('full', 'no room'), { path: '/data/app.db' })
  t.match(carried(full), { name: 'DatabaseError', kind: 'full', message: 'no room', path: '/data/app.db' })
  t.ok(carried(new BrokenStorageError('broken')) instanceof BrokenStorageError)
  t.ok(carried(new MigrationError('wrong')) instanceof MigrationError)
  t.match(carried(Object.assign(new Error('write'), { code: 'ENOSPC' })), {
    message: 'write',
    code: 'ENOSPC',
  })
})
