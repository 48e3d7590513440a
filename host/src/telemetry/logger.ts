import { createRequire } from 'node:module'
import type { Config } from '@mortise/application'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type PinoPretty from 'pino-pretty'

const secretHeaders = ['authorization', 'cookie', 'set-cookie', 'guest-token', 'idempotency-key']

/** Bytes buffered while stderr is blocked, as on a full disk. Further lines are dropped. */
const MOST_KEPT = 1024 * 1024

/** By default to stderr, readable on a terminal. A write failure has no further effect. */
export function createLogger({ level }: Config['log'], stream: DestinationStream = stderr()): Logger {
  const redact = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  return pino({ level, redact }, stream)
}

function stderr(): DestinationStream {
  if (process.stderr.isTTY) return linesForPeople()
  const stream = destination({ dest: 2, sync: true, maxLength: MOST_KEPT })
  // Buffered output stays and is written with a later line.
  stream.on('error', () => {})
  return stream
}

/** stderr in readable lines, even if it is no terminal. */
export function linesForPeople(): DestinationStream {
  // Loaded on demand: most logs go to a file or a service.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pretty({
    destination: 2,
    sync: true,
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  })
}
