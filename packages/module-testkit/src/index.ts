import './supported-node.ts'

export type { OwningTest, TestHost, TestHostOptions, TestModule } from './create-test-host.ts'
export { onEngines, type TestEngine } from './on-engines.ts'
export type { Method, TestCaller } from './test-caller.ts'
export { testProblems } from './test-problems.ts'

// A dynamic import, because a static one links the host before any code runs.
export const { createTestHost } = await import('./create-test-host.ts')
