import { createRequire } from 'node:module'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { Config } from '../config/config.ts'

/** What never reaches a log, wherever headers are logged. */
const secretHeaders = ['authorization', 'cookie', 'set-cookie', 'guest-token', 'idempotency-key']

/** How many bytes wait while stderr takes nothing: it is a file on a full disk. Further lines are dropped. */
const MOST_KEPT = 1024 * 1024

/** Logs to `stream`: stderr, in JSON lines, or in lines for people where it is a terminal. That it cannot be written ends nothing. */
export function createLogger({ level }: Config['log'], stream: DestinationStream = stderr()): Logger {
  const redact = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  return pino({ level, redact }, stream)
}

function stderr(): DestinationStream {
  if (process.stderr.isTTY) return linesForPeople()
  const stream = destination({ dest: 2, sync: true, maxLength: MOST_KEPT })
  // What it had to write is kept, and goes out with a later line.
  stream.on('error', () => {})
  return stream
}

/** stderr, whatever it is, in lines for people. */
export function linesForPeople(): DestinationStream {
  // Loaded where somebody reads it: most logs go to a file or a service.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pretty({
    destination: 2,
    sync: true,
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  })
}
