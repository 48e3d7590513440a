import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'
import { byAllResponsive } from '../pool.ts'

/** At least this many seconds. Returns `watched` if the watch continues. */
export const settle = hostOperation({
  input: Type.Object({ generation: Type.Integer(), seconds: Type.Integer() }),
  // Until `LoopWatchdog` ends the process.
  holdsLoop: 45_000,
  isAwaited: true,
  inPool: byAllResponsive,
  run: async (host, { generation, seconds }) => ({ verdict: await host.settle(generation, seconds * 1000) }),
})
