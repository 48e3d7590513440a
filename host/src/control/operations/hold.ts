import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'

/**
 * Holds writes back as long as the connection is open, and answers when those before are done.
 * `file` is the database that the caller means.
 */
export const hold = hostOperation({
  input: Type.Object({ file: Type.String() }),
  run: (host, { file }, response) => host.hold.begin(file, response),
})
