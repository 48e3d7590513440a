import { hostOperation, RefusedError } from '../operation.ts'

/** Replaces the processes that serve, one by one. */
export const restart = hostOperation({
  async run(): Promise<{ readonly workers: number }> {
    throw new RefusedError('it is one process, so a restart would interrupt service')
  },
  inPool: async (pool) => ({ status: 200, body: { workers: await pool.restart() } }),
})
