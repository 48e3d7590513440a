import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'

/** Responds when earlier writes are done; lasts while the connection is open. */
export const hold = hostOperation({
  input: Type.Object({ file: Type.String() }),
  run: (host, { file }, response) => host.hold.begin(file, response),
})
