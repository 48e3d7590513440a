import { createRequire } from 'node:module'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { Config } from './config.ts'

/** What never reaches a log, wherever headers are logged. */
const secretHeaders = ['authorization', 'cookie', 'set-cookie', 'guest-token', 'idempotency-key']

/** Logs to `stream`: stderr, in JSON lines, or in lines for people where it is a terminal. */
export function createLogger({ level }: Config['log'], stream: DestinationStream = stderr()): Logger {
  const redact = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  return pino({ level, redact }, stream)
}

function stderr(): DestinationStream {
  return process.stderr.isTTY ? linesForPeople() : destination(2)
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
