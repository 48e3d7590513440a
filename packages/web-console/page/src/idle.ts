import { endedBecause, request, session } from './api.ts'

let last = Date.now()

/** Signs out after as long without a key or a click as the host allows: what the page loads by itself is no use of it. */
export function watchIdle(): void {
  for (const kind of ['pointerdown', 'keydown', 'wheel'] as const) {
    addEventListener(kind, () => { last = Date.now() }, { passive: true })
  }
  setInterval(() => {
    const { value } = session
    if (!value) return
    const allowed = allowedIdle()
    if (Date.now() - last > allowed) void signOut('idle')
  }, 15_000)
}

let idle: number | undefined
/** Milliseconds: what `idleUntil` was ahead when the session was read first. */
function allowedIdle(): number {
  const { value } = session
  idle ??= value ? Math.max(60_000, Date.parse(value.idleUntil) - Date.now()) : undefined
  return idle ?? Number.POSITIVE_INFINITY
}

export async function signOut(why?: 'idle'): Promise<void> {
  endedBecause.value = why
  await request('session', { method: 'DELETE' }).catch(() => undefined)
  idle = undefined
  last = Date.now()
  session.value = null
}
