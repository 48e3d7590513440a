export * as heyApi from './hey-api.ts'
export * as openapiTypescript from './openapi-typescript.ts'
export * as orval from './orval.ts'
