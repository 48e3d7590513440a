import type { MigrationSet } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import { databaseOperation } from '../operation.ts'

/** `sets` are the migrations of all available packages. */
export const restoreModule = databaseOperation({
  needs: 'no host',
  input: Type.Object({
    file: Type.String(),
    sets: Type.Unsafe<readonly MigrationSet[]>(Type.Array(Type.Object({}))),
    record: OperatorRecord,
  }),
  migrates: true,
  run: ({ storage }, { file, sets, record }) => storage.restoreModule(file, sets, insertion(record)),
})
