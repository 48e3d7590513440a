import type { CommandResult, CommandStreams, Operator, OperatorQuery } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import type { ActingTokens } from '../callers/acting.ts'
import { readFailedEvents } from '../events/failed-event-queries.ts'
import { readAudit } from '../events/import-records.ts'
import { readJobs } from '../events/job-queries.ts'
import type { MetricFamily } from '../telemetry/prometheus-format.ts'

/** The commands that an operator may run. */
const commands = new Set(
  'module-list module-history module-info module-install module-remove module-upgrade module-enable module-disable module-pause module-rollback search config events work doctor'.split(
    ' ',
  ),
)
const options = new Set('dry-run plan yes settle allow-new purge for outdated usage fix quick'.split(' '))

/** What a process knows of itself for its operator. */
export interface OperatedProcess {
  /** @param argv the command and all that follows */
  run(argv: readonly string[], streams?: CommandStreams): Promise<CommandResult>
  /** Where it listens; '' before it does. */
  url(): string
}

interface Operated {
  readonly app: FastifyInstance
  readonly directory: string
  readonly storage: Storage
  readonly tokens: ActingTokens
  readonly metrics: () => Promise<readonly MetricFamily[]>
  readonly publicUrl: string | undefined
  /** Absent in a host that no command started: a probe, a test. */
  readonly process: OperatedProcess | undefined
}

/** What one module may do: see `Operator`. */
export function operatorOf({
  app,
  directory,
  storage,
  tokens,
  metrics,
  publicUrl,
  process,
}: Operated): Operator {
  return {
    signIn: (token) => tokens.signIn(token),
    call: (user, { method, path, headers = {}, body, remoteAddress }) =>
      tokens.as(user, (token) =>
        app.inject({
          method: method as 'GET',
          url: app.prefix + path,
          headers: { ...headers, authorization: `Bearer ${token}` },
          ...(body !== undefined && { payload: body }),
          ...(remoteAddress !== undefined && { remoteAddress }),
        }),
      ),
    run: async (command, words = [], given = {}, streams = {}) => {
      if (!commands.has(command)) throw new TypeError(`an operator may not run "app ${command}"`)
      const chosen = Object.entries(given).map(([name, value]) => {
        if (!options.has(name)) throw new TypeError(`an operator may not use the option --${name}`)
        return value === true ? `--${name}` : `--${name}=${value}`
      })
      if (process === undefined) throw new Error('no command started this host, so it cannot run one')
      return await process.run([command, ...chosen, '--', ...words], streams)
    },
    read: async (command, { limit = 20, ...query }: OperatorQuery = {}) => {
      if (command === 'audit') return { records: await readAudit(directory, storage, { limit, ...query }) }
      const failures = command === 'work' ? readJobs : readFailedEvents
      return await storage.snapshot<unknown>(() => failures(limit), { long: true })
    },
    metrics,
    get isPrivate() {
      return publicUrl?.startsWith('https:') === true || isLoopback(process?.url() ?? '')
    },
  }
}

const isLoopback = (url: string) => /^http:\/\/(127\.[\d.]+|\[::1\])[:/]/.test(`${url}/`)
