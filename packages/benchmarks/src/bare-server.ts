import { type BareOptions, createBareApp } from './bare/create-bare-app.ts'
import { serveParent } from './serve-parent.ts'

// A process of its own: the server that the host is compared with.
serveParent(async (options: BareOptions) => {
  const app = createBareApp(options)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
})
