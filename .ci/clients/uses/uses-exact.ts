export * as heyApi from './hey-api-types.ts'
export * as openapiTypescript from './openapi-typescript.ts'
export * as orval from './orval.ts'
