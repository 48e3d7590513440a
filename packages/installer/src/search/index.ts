export type { FoundModule } from './found-module.ts'
export { searchModules } from './search-modules.ts'
