import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'
import { byAllResponsive } from '../pool.ts'

/** Serves the current modules.lock.json. */
export const activate = hostOperation({
  input: Type.Object({
    /** Retries failed modules: the lock came from outside, or packages are back in the store. */
    again: Type.Optional(Type.Boolean()),
    /** The text of app.config.json before and after a change of settings. */
    config: Type.Optional(Type.Object({ former: Type.String(), next: Type.String() })),
  }),
  // Code of a module may block the event loop while it loads.
  holdsLoop: 30_000,
  inPool: byAllResponsive,
  async run(host, { again, config }) {
    const generation = await host.installed.activate({ probed: true, again, config })
    await host.tellHosts()
    return { generation }
  },
})
