import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'

/**
 * Pauses writes while the connection is open, and responds when earlier writes are done. `file` is
 * the caller's database.
 */
export const hold = hostOperation({
  input: Type.Object({ file: Type.String() }),
  run: (host, { file }, response) => host.hold.begin(file, response),
})
