import { hostOperation } from '../operation.ts'

/** Says that the holder of writes is at work: they are held for 30 s after the last time. */
export const keep = hostOperation({
  async run(host) {
    host.hold.keep()
    return {}
  },
})
