export { default } from './module.ts'
