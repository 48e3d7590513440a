import { hostOperation, RefusedError } from '../operation.ts'

/** Replaces the processes that serve, one by one. */
export const restart = hostOperation({
  async run(): Promise<{ readonly workers: number }> {
    throw new RefusedError('it is one process, and nobody would serve while it is replaced')
  },
  inPool: async (pool) => ({ status: 200, body: { workers: await pool.restart() } }),
})
