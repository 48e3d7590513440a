import { readdirSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'

/** Descriptors that connections leave to the rest: the control socket, PostgreSQL, modules that load, webhooks, health probes. */
const KEPT = 114

export interface OpenFiles {
  /** The most that this process may have open. */
  readonly limit: number
  readonly open: number
}

/**
 * How many connections the process can take at a time: `configured`, or fewer where it may open few files, which is
 * logged; at least 1.
 */
export function connectionLimit(
  configured: number,
  log: Pick<FastifyBaseLogger, 'warn'>,
  { limit, open } = openFiles(),
): number {
  const most = Math.max(1, Math.min(configured, limit - open - KEPT))
  if (most < configured) {
    log.warn(
      `${most} connections are taken at a time instead of ${configured}: the process may open ${limit} files (ulimit -n)`,
    )
  }
  return most
}

/** What the operating system allows (`ulimit -n`), and what is in use now. */
function openFiles(): OpenFiles {
  return { limit: softLimit(), open: countOpen() }
}

function softLimit(): number {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Otherwise it looks up names.
  report.excludeNetwork = true
  try {
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } }
    const soft = userLimits?.open_files?.soft
    return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}

function countOpen(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return KEPT
  }
}
