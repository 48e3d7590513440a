import { jumpTo } from './jumping-clock.ts'

/** How far the clock is ahead from now on, in milliseconds; with the first message, before the host starts. */
process.on('message', ({ ahead }: { ahead?: number }) => {
  if (ahead !== undefined) jumpTo(ahead)
})
await import('../../harness/host-server.ts')
