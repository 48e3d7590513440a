export {
  createTestHost,
  type OwningTest,
  type TestHost,
  type TestHostOptions,
  type TestModule,
} from './create-test-host.ts'
export { type Method, TestCaller } from './test-caller.ts'
