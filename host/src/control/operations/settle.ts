import { Type } from '@sinclair/typebox'
import { hostOperation } from '../operation.ts'
import { byAllAwake } from '../pool.ts'

/**
 * Watches the change of a generation for at least this many seconds, and returns the verdict;
 * `watched` if the watch continues.
 */
export const settle = hostOperation({
  input: Type.Object({ generation: Type.Integer(), seconds: Type.Integer() }),
  // Until `LoopWatchdog` ends the process.
  holdsLoop: 45_000,
  isAwaited: true,
  inPool: byAllAwake,
  run: async (host, { generation, seconds }) => ({ verdict: await host.settle(generation, seconds * 1000) }),
})
