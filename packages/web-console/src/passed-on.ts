import { Type } from '@sinclair/typebox'

/** A JSON body with parts that something else has described: a command, an event, a metric. */
export const PassedOn = <Body>(description: string) =>
  Type.Unsafe<Body>({ description, content: { 'application/json': { schema: {} } } })
