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

/** Several processes that serve one application, as operations see them. */
export interface Pool {
  askOne(request: ControlRequest): Promise<ControlResponse | undefined>
  /** @param waits whether to wait for silent processes until they respond or are replaced */
  askAll(request: ControlRequest, waits?: boolean): Promise<ControlResponse[]>
  /** Their common state; undefined if none responds now. */
  state(): Promise<ApplicationState | undefined>
  readonly serving: number
  readonly silent: readonly number[]
  restart(): Promise<number>
}

const nobody: ControlResponse = {
  status: 503,
  body: { reason: 'all processes have ended; new ones start' },
}

export const byOne = async (pool: Pool, request: ControlRequest): Promise<ControlResponse> =>
  (await pool.askOne(request)) ?? nobody

/** Runs a request on all. Returns the response of one that failed, if any. */
export async function byAll(pool: Pool, request: ControlRequest): Promise<ControlResponse> {
  const answers = await pool.askAll(request)
  return answers.find(({ status }) => status !== 200) ?? answers[0] ?? nobody
}

/** Runs a request on all but silent processes. */
export async function byAllResponsive(pool: Pool, request: ControlRequest): Promise<ControlResponse> {
  const all = await pool.askAll(request)
  const responses = all.filter(({ status }) => status !== 504)
  return responses.find(({ status }) => status !== 200) ?? responses[0] ?? all[0] ?? nobody
}

/**
 * Runs a request on all. A silent process would continue as before, so it must respond or be
 * replaced first.
 */
export async function byAllOrReplaced(pool: Pool, request: ControlRequest): Promise<ControlResponse> {
  const responses = await pool.askAll(request, true)
  return responses.find(({ status }) => status !== 200) ?? responses[0] ?? nobody
}

/** The response of a pool without any response. */
export function noResponse({ silent: [pid] }: Pool): ControlResponse {
  return pid === undefined
    ? nobody
    : { status: 504, body: { reason: `process ${pid} does not respond`, pid } }
}
