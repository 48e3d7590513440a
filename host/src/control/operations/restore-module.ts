import type { MigrationSet } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import { databaseOperation } from '../operation.ts'

/** Brings back, on record, what `extractModule` has written to a file. `sets` are the migrations of all packages at hand. */
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
