/** Names the number of a worker among those of its supervisor. */
export const WORKER_NUMBER = 'MORTISE_WORKER'

/** The number of this worker. Processes that it starts are none. */
export function takeWorkerNumber(): number {
  const number = Number(process.env[WORKER_NUMBER])
  delete process.env[WORKER_NUMBER]
  return number
}
