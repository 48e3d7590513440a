import { hostOperation } from '../operation.ts'
import { unheard } from '../pool.ts'

export const state = hostOperation({
  reads: true,
  run: async (host) => host.state(),
  async inPool(pool) {
    const state = await pool.state()
    return state === undefined ? unheard(pool) : { status: 200, body: state }
  },
})
