import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'
import { byAllAwake } from '../pool.ts'

/**
 * Watches the change of a generation for so many seconds at least, and answers when that is over; `watched` where it
 * goes on longer.
 */
export const settle = hostOperation({
  input: Type.Object({ generation: Type.Integer(), seconds: Type.Integer() }),
  // Until `LoopWatchdog` ends the process.
  holdsLoop: 45_000,
  isAwaited: true,
  inPool: byAllAwake,
  run: async (host, { generation, seconds }) => ({ verdict: await host.settle(generation, seconds * 1000) }),
})
