import { endSession, request } from './api.ts'

export async function signOut(): Promise<void> {
  await request('session', { method: 'DELETE' }).catch(() => undefined)
  endSession()
}

/** Ends everybody's session. */
export async function endAllSessions(): Promise<void> {
  await request('session/all', { method: 'DELETE' })
  endSession()
}
