import { Application, type ApplicationOptions } from '@mortise/host/serving'
import type { Test } from 'tap'

/** Callers of a test are all at one address. */
export const withoutLimits = { APP_RATE_LIMIT_MAX: '0' }

/** Runs the application in `directory` in this process; it stops after the test. */
export async function runningHost(t: Test, directory: string, options: Partial<ApplicationOptions> = {}) {
  const environment = { APP_LOG_LEVEL: 'silent', ...withoutLimits }
  const running = await Application.start({ directory, port: 0, environment, ...options })
  t.teardown(() => running.close())
  return running
}

/** What it returns: the status, and the body as JSON. */
export async function get(running: Application, path: string) {
  const response = await fetch(`${running.url}${path}`)
  // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
  return { status: response.status, body: (await response.json()) as any }
}
