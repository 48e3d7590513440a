import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config.ts'

/** What never reaches a log, wherever headers are logged. */
const secretHeaders = ['authorization', 'cookie', 'set-cookie', 'guest-token', 'idempotency-key']

/** JSON lines on stdout; on a terminal, lines for people on stderr. */
export function createLogger({ level }: Config['log'], destination?: DestinationStream): Logger {
  const redact = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  const options = { level: level as string, redact }
  if (destination) return pino(options, destination)
  return process.stdout.isTTY
    ? pino(
        options,
        pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' }),
      )
    : pino(options)
}
