import { jumpTo } from './jumping-clock.ts'

/**
 * Sets how far the clock is ahead, in milliseconds. The first message comes before the host starts.
 */
process.on('message', ({ ahead }: { ahead?: number }) => {
  if (ahead !== undefined) jumpTo(ahead)
})
await import('../../harness/host-server.ts')
