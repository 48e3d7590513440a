import { hostOperation } from '../operation.ts'

/** A sign of life from the holder of the write pause, which ends 30 s after the last one. */
export const keep = hostOperation({
  async run(host) {
    host.hold.keep()
    return {}
  },
})
