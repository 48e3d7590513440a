export * from './failures/failure.ts'
