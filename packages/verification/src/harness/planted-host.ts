import { serveParent } from '../../harness/serve-parent.ts'
import { bugs } from './bugs.ts'
import { plant, type Seams } from './seams.ts'

// A process of its own: the host as `app start` runs it, but for the bug.
serveParent(async ({ directory, bug }: { directory: string; bug?: string }) => {
  const waiting = plant(bug === undefined ? {} : (bugs[bug] as Seams))
  // Not before that: it is loaded with the bug.
  const { Application } = await import('@mortise/host/serving')
  const application = await Application.start({ directory, port: 0, environment: {} })
  const [missing] = waiting()
  if (missing !== undefined) throw new Error(`${missing} was not loaded`)
  return { url: application.url, close: () => application.close() }
})
