import './supported-node.ts'

export type { OwningTest, TestHost, TestHostOptions, TestModule } from './create-test-host.ts'
export type { Method, TestCaller } from './test-caller.ts'
export { type TestDatabase, testDatabases } from './test-databases.ts'

// Not imported statically, since that links the host before anything is run.
export const { createTestHost } = await import('./create-test-host.ts')
