import type { ApplicationState } from './application-state.ts'

export interface ControlRequest {
  readonly method: 'GET' | 'POST'
  /** `/` and the name of an operation. */
  readonly path: string
  readonly body?: unknown
}

export interface ControlResponse {
  readonly status: number
  readonly body: unknown
}

/** Several processes that serve one application, as an operation has them. */
export interface Pool {
  askOne(request: ControlRequest): Promise<ControlResponse | undefined>
  askAll(request: ControlRequest): Promise<ControlResponse[]>
  /** What they have in common; undefined where none answers just now. */
  state(): Promise<ApplicationState | undefined>
  readonly serving: number
  readonly silent: readonly number[]
  restart(): Promise<number>
}

const nobody: ControlResponse = {
  status: 503,
  body: { reason: 'all processes have just ended, and are about to be replaced' },
}

export const byOne = async (pool: Pool, request: ControlRequest): Promise<ControlResponse> =>
  (await pool.askOne(request)) ?? nobody

/** Answers as one that cannot do it, if any. */
export async function byAll(pool: Pool, request: ControlRequest): Promise<ControlResponse> {
  const answers = await pool.askAll(request)
  return answers.find(({ status }) => status !== 200) ?? answers[0] ?? nobody
}

/** The same, without those that are silent: they read the lock when they wake, or their successors do. */
export async function byAllAwake(pool: Pool, request: ControlRequest): Promise<ControlResponse> {
  const all = await pool.askAll(request)
  const heard = all.filter(({ status }) => status !== 504)
  return heard.find(({ status }) => status !== 200) ?? heard[0] ?? all[0] ?? nobody
}

/** The answer of a pool in which none has answered. */
export function unheard({ silent: [pid] }: Pool): ControlResponse {
  return pid === undefined ? nobody : { status: 504, body: { reason: `process ${pid} is silent`, pid } }
}
