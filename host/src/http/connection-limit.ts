import { readdirSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'

/**
 * File descriptors reserved for everything else: the control socket, PostgreSQL, modules that load,
 * webhooks, health probes.
 */
const KEPT = 114
/** Those of them that are for the host alone. */
const OWN = 64
/** The part of the rest that one module may have. */
const SHARE = 0.75

/**
 * The connections that the process can take at a time: `configured`, or fewer if it may open only
 * few files, which it logs; at least 1.
 */
export function connectionLimit(
  configured: number,
  log: Pick<FastifyBaseLogger, 'warn'>,
  { limit, open } = openFiles(),
): number {
  const most = connectionsOf(configured, { limit, open })
  if (most < configured) {
    log.warn(
      `the host accepts ${most} connections instead of ${configured}, because the process may open ${limit} files: raise ulimit -n`,
    )
  }
  return most
}

/**
 * The connections that modules may make at a time, so that connections to the host and its own files
 * have room: at most `configured` for one module, fewer if the process may open only few files.
 */
export function moduleSocketLimits(
  configured: number,
  maxConnections: number,
  files = openFiles(),
): { readonly ofModule: number; readonly all: number } {
  const all = Math.max(1, files.limit - files.open - connectionsOf(maxConnections, files) - OWN)
  return { ofModule: Math.min(configured, Math.ceil(all * SHARE)), all }
}

const connectionsOf = (configured: number, { limit, open }: OpenFiles) =>
  Math.max(1, Math.min(configured, limit - open - KEPT))

type OpenFiles = ReturnType<typeof openFiles>

/** The operating system's limit of descriptors (`ulimit -n`), and those in use. */
const openFiles = () => ({ limit: softLimit(), open: countOpen() })

function softLimit(): number {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Otherwise the report resolves host names.
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
