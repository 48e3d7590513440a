import { hostOperation } from '../operation.ts'
import { noResponse } from '../pool.ts'

export const state = hostOperation({
  reads: true,
  run: async (host) => host.state(),
  async inPool(pool) {
    const state = await pool.state()
    return state === undefined ? noResponse(pool) : { status: 200, body: state }
  },
})
