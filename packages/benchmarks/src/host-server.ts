import { Application } from '@mortise/host'
import { serveParent } from './serve-parent.ts'

// A process of its own: the host as `app start` runs it.
serveParent(async ({ directory, database }: { directory: string; database?: string }) => {
  const environment = database === undefined ? {} : { APP_DATABASE: database }
  const application = await Application.start({ directory, port: 0, environment })
  return { url: application.url, close: () => application.close() }
})
