// Shows tap which test an uncaught error belongs to, in place of the package async-hook-domain. That follows every
// promise with async hooks, which takes a fifth of the CPU time of a test with a host. AsyncLocalStorage takes none.
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

const storage = new AsyncLocalStorage()
let outermost

process.on('uncaughtException', (error, origin) => {
  // Another listener deals with it.
  if (process.listenerCount('uncaughtException') > 1) return
  let domain = storage.getStore() ?? outermost
  while (domain.destroyed && domain.parent) domain = domain.parent
  domain.onerror(error, origin)
})

export class Domain {
  parent = storage.getStore()
  destroyed = false

  constructor(onerror) {
    this.onerror = onerror
    outermost ??= this
    // tap makes the domain of a test in the resource in which the test runs.
    const resource = executionAsyncResource()
    if (!(resource instanceof AsyncResource)) return
    resource.runInAsyncScope = (work, self, ...args) => storage.run(this, () => work.apply(self, args))
  }

  destroy() {
    this.destroyed = true
  }
}
