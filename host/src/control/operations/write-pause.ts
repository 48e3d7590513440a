import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'

/** Responds when earlier writes are done; lasts while the connection is open. */
export const hold = hostOperation({
  input: Type.Object({ file: Type.String() }),
  run: (host, { file }, response) => host.hold.begin(file, response),
})

/**
 * A sign of life from the holder of the write pause, which ends 30 s after the last one. `left` are
 * the seconds that the move still takes.
 */
export const keep = hostOperation({
  input: Type.Object({ left: Type.Optional(Type.Integer()) }),
  async run(host, { left }) {
    await host.hold.keep(left)
    return {}
  },
})

/**
 * Replaces the text of app.config.json, which then names another database, during a write pause.
 * The pause then lasts to the end of the process.
 */
export const switchConfig = hostOperation({
  input: Type.Object({ previous: Type.String(), next: Type.String() }),
  async run(host, { previous, next }) {
    await host.hold.moveTo(previous, next)
    return {}
  },
})
