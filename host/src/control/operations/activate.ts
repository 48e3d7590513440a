import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'
import { byAllAwake } from '../pool.ts'

/** Makes modules.lock.json, as it is now, what is served. */
export const activate = hostOperation({
  input: Type.Object({
    /** Tries modules that have failed once more: the lock came from outside, or packages are back in the store. */
    again: Type.Optional(Type.Boolean()),
    /** The text of app.config.json, where a setting has changed. */
    config: Type.Optional(Type.Object({ former: Type.String(), next: Type.String() })),
  }),
  // Code of a module may hold it while it is loaded.
  holdsLoop: 30_000,
  inPool: byAllAwake,
  async run(host, { again, config }) {
    const generation = await host.installed.activate({ probed: true, again, config })
    await host.tellHosts()
    return { generation }
  },
})
