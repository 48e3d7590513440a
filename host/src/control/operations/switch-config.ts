import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'

/**
 * Replaces the text of app.config.json, which then names another database, during a write pause.
 * The pause then lasts to the end of the process.
 */
export const switchConfig = hostOperation({
  input: Type.Object({ former: Type.String(), next: Type.String() }),
  async run(host, { former, next }) {
    await host.hold.moveTo(former, next)
    return {}
  },
})
