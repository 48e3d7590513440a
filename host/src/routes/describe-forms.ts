import type { FileSchema } from '../http/form-schema.ts'
import { type JsonSchema, type OpenapiDocument, operationsOf } from './openapi-document.ts'

/** Says of each file in a form which media types it may have, as OpenAPI 3.1 does. */
export function describeForms(document: OpenapiDocument): void {
  for (const [, { requestBody }] of operationsOf(document)) {
    const form = requestBody?.content['multipart/form-data']
    if (form?.schema === undefined) continue
    const properties = form.schema.properties as Record<string, JsonSchema>
    const files = Object.entries(properties).filter(([, { format }]) => format === 'binary')
    form.encoding = Object.fromEntries(
      files.map(([name, { mediaTypes, ...schema }]) => {
        const [first = 'application/octet-stream', ...more] = (mediaTypes as FileSchema['mediaTypes']) ?? []
        const isOne = more.length === 0 && !first.includes('*')
        properties[name] = { ...schema, ...(isOne && { contentMediaType: first }) }
        return [name, { contentType: mediaTypes === undefined ? '*/*' : [first, ...more].join(', ') }]
      }),
    )
  }
}
