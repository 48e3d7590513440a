// The parts that the benchmarks use too: applications and hosts in separate processes.
export { type App, runApp, startHost } from './harness/app.ts'
export { Child } from './harness/child.ts'
export { hostServer } from './harness/host-group.ts'
export { mintUsers } from './harness/mint-users.ts'
export { ownSchema } from './harness/own-schema.ts'
export { type PreparedApplication, prepareApplication } from './harness/prepare-application.ts'
export { serveParent, type Usage } from './harness/serve-parent.ts'
export { writeTallyModule } from './harness/tally-module.ts'
