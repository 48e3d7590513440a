import './supported-node.ts'

export type { OwningTest, TestHost, TestHostOptions, TestModule } from './create-test-host.ts'
export { onEngines, type TestEngine } from './on-engines.ts'
export type { Method, TestCaller } from './test-caller.ts'
export { testProblems } from './test-problems.ts'

// Not imported statically, since that links the host before anything is run.
export const { createTestHost } = await import('./create-test-host.ts')
