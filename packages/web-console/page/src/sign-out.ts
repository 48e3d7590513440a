import { request, session } from './api.ts'

export async function signOut(): Promise<void> {
  await request('session', { method: 'DELETE' }).catch(() => undefined)
  session.value = null
}
