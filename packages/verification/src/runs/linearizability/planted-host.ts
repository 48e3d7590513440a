import { serveParent } from '../../harness/serve-parent.ts'
import { type Edit, plant } from './inject-bug.ts'

// A process of its own: the host as `app start` runs it, but for the edits.
serveParent(async ({ directory, edits }: { directory: string; edits: readonly Edit[] }) => {
  const waiting = plant(edits)
  // Not before that: it is loaded with the edits.
  const { Application } = await import('@mortise/host/serving')
  const application = await Application.start({ directory, port: 0, environment: {} })
  const [missing] = waiting()
  if (missing !== undefined) throw new Error(`${missing.file} was not loaded`)
  return { url: application.url, close: () => application.close() }
})
