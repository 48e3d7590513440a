import {
  type Audit,
  type CommandResult,
  currentTime,
  DAY,
  type Database,
  expiryDay,
  type ModuleContext,
  type ModuleInstance,
  maybeOne,
  newId,
  run,
  Strict,
  sql,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { type Call, callOf, planOf, typed, WantedChange } from './changes.ts'
import { type CommandError, type Commands, documentOf } from './commands.ts'
import { assertFromPage } from './from-page.ts'
import { problem, responses } from './module.ts'
import { PassedOn } from './passed-on.ts'
import type { Parts } from './session-routes.ts'

/** How long a plan waits for consent, in milliseconds. */
const PLAN_LIFETIME = 600_000
/** No command runs longer, in milliseconds. */
const LONGEST = 11 * 60_000
const KEPT = 30 * DAY

interface Planned {
  readonly id: string
  /** As one types it. */
  readonly command: string
  /** The document of its plan. */
  readonly plan: unknown
  readonly expiresAt: string
}

interface Change {
  readonly id: string
  readonly command: string
  readonly state: 'running' | 'done' | 'failed'
  readonly beganAt: string
  /** What the command said to people. */
  readonly lines: readonly string[]
  /** The document that it printed. */
  readonly result?: unknown
  readonly problem?: unknown
  /** Whether the change has settled, for a command that waits for it. */
  readonly watch?: unknown
}
const refusals = ['not-signed-in', 'foreign-request', 'insufficient-scope'] as const

/** Plans, consent to exactly one, and what became of it. Only admins who have just signed in change anything. */
export function changeRoutes(
  app: ModuleInstance,
  { sessions, operator, rights }: Parts,
  commands: Commands,
  { database, audit, log, everyMinute }: Pick<ModuleContext, 'database' | 'audit' | 'log' | 'everyMinute'>,
): void {
  const config = { access: 'public' } as const
  const uncached = async (_: unknown, reply: { header(name: string, value: string): unknown }) => {
    reply.header('cache-control', 'no-store')
  }

  app.post(
    '/console/operator/plan',
    {
      config,
      onRequest: uncached,
      schema: {
        hide: true,
        summary: 'Plan a change',
        body: WantedChange,
        response: {
          200: PassedOn<Planned>('the plan, with its id'),
          ...responses(
            ...refusals,
            'changes-off',
            'sign-in-too-old',
            'command-failed',
            'commands-busy',
            'invalid-request',
          ),
        },
      },
    },
    async (request) => {
      assertFromPage(request)
      const session = await sessions.of(request)
      rights.assertMayChange(session)
      const wanted = callOf(request.body)
      const { plan, call } = await planOf(wanted, (...given) => commands.read(...given))
      const id = newId('plan')
      const expiresAt = currentTime() + PLAN_LIFETIME
      await database.transaction(() =>
        run(sql`
          INSERT INTO console_plan (id, session, call, expires_at)
          VALUES (${id}, ${session.id}, ${JSON.stringify(call)}, ${expiresAt})`),
      )
      return { id, command: typed(wanted), plan, expiresAt: timestamp(expiresAt) }
    },
  )

  app.post(
    '/console/operator/change',
    {
      config,
      onRequest: uncached,
      schema: {
        hide: true,
        summary: 'Apply a plan',
        body: Strict({ plan: Type.String({ maxLength: 64 }) }),
        response: {
          202: Type.Object({ change: Type.String() }),
          ...responses(...refusals, 'changes-off', 'sign-in-too-old', 'plan-not-found'),
        },
      },
    },
    async (request, reply) => {
      assertFromPage(request)
      const session = await sessions.of(request)
      rights.assertMayChange(session)
      const id = newId('change')
      const call = await database.transaction(() =>
        take(request.body.plan, session.id, { id, caller: session.user.id, audit }),
      )
      let notes = ''
      let noted: Promise<unknown> = Promise.resolve()
      const onNotes = (text: string) => {
        notes += text
        noted = noted.then(() => note(database, id, notes)).catch(() => {})
      }
      operator
        .run(call.command, call.words, call.options, { input: call.input, onNotes })
        .catch((error): CommandResult => {
          log.error(error, 'a command of the console cannot run')
          return { exitCode: 1, document: undefined, notes: (error as Error).message }
        })
        .then((result) => noted.then(() => store(database, id, result)))
        .catch((error) => log.error(error, 'the result of a command of the console is lost'))
      return reply.code(202).send({ change: id })
    },
  )

  app.get(
    '/console/operator/change/:id',
    {
      config,
      onRequest: uncached,
      schema: {
        hide: true,
        summary: 'A change',
        params: Type.Object({ id: Type.String() }),
        response: { 200: PassedOn<Change>('the change'), ...responses('not-signed-in', 'change-not-found') },
      },
    },
    async (request) => {
      await sessions.of(request)
      const row = await database.maybeOne<Row>(sql`
        SELECT id, command, began_at AS "beganAt", notes, result FROM console_change WHERE id = ${request.params.id}`)
      if (row === undefined) throw problem('change-not-found')
      return stateOf(row)
    },
  )

  everyMinute('plans', function* () {
    yield* run(sql`DELETE FROM console_plan WHERE expires_at <= ${currentTime()}`)
    return false
  })
}

interface Row {
  readonly id: string
  readonly command: string
  readonly beganAt: number
  readonly notes: string
  readonly result: string | null
}

/** Uses the plan of a session up. @throws {Problem} `plan-not-found` */
function* take(
  plan: string,
  session: string,
  { id, caller, audit }: { readonly id: string; readonly caller: string; readonly audit: Audit },
): Transaction<Call> {
  const now = currentTime()
  const found = yield* maybeOne<{ call: string }>(sql`
    SELECT call FROM console_plan WHERE id = ${plan} AND session = ${session} AND expires_at > ${now}`)
  const taken = found === undefined ? 0 : yield* run(sql`DELETE FROM console_plan WHERE id = ${plan}`)
  if (found === undefined || taken === 0) throw problem('plan-not-found')
  const call: Call = JSON.parse(found.call)
  const command = typed(call)
  yield* run(sql`
    INSERT INTO console_change (id, caller, command, began_at, notes, expires_at, expiry_day)
    VALUES (${id}, ${caller}, ${command}, ${now}, '', ${now + KEPT}, ${expiryDay(now + KEPT)})`)
  yield* audit({ action: 'console.change', object: id, details: { caller, command } })
  return call
}

const note = (database: Database, id: string, notes: string) =>
  database.transaction(() => run(sql`UPDATE console_change SET notes = ${notes} WHERE id = ${id}`))

const store = (database: Database, id: string, result: CommandResult) =>
  database.transaction(() =>
    run(sql`UPDATE console_change SET result = ${JSON.stringify(result)} WHERE id = ${id}`),
  )

const linesOf = (notes: string) => notes.split('\n').filter((line) => line.trim() !== '')

function stateOf({ id, command, beganAt, notes, result: text }: Row): Change {
  const common = { id, command, beganAt: timestamp(beganAt) }
  if (text === null) {
    if (currentTime() < beganAt + LONGEST) return { ...common, state: 'running', lines: linesOf(notes) }
    const message = 'The host ended while the command ran. Its end is in the history and the audit trail.'
    return { ...common, state: 'failed', lines: linesOf(notes), problem: { code: 'interrupted', message } }
  }
  const result: CommandResult = JSON.parse(text)
  const lines = linesOf(result.notes)
  try {
    const document = documentOf(result) as { readonly settled?: unknown } | undefined
    const { settled } = document ?? {}
    const watch = settled !== undefined && { watch: settled }
    return { ...common, state: 'done', lines, result: document, ...watch }
  } catch {
    const { error = { code: 'unexpected', message: lines.join('\n') } } = (result.document ?? {}) as {
      readonly error?: Partial<CommandError>
    }
    return { ...common, state: 'failed', lines, problem: error }
  }
}
