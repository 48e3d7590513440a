import { Application } from '@mortise/host/serving'
import { serveParent } from './serve-parent.ts'

interface HostServerOptions {
  readonly directory: string
  readonly database?: string
  /** Settings as APP_… variables. */
  readonly environment?: Readonly<Record<string, string>>
}

// A separate process: the host as `app start` runs it.
serveParent(async ({ directory, database, environment = {} }: HostServerOptions) => {
  const application = await Application.start({
    directory,
    port: 0,
    environment: { ...environment, ...(database !== undefined && { APP_DATABASE: database }) },
  })
  return { url: application.url, close: () => application.close() }
})
