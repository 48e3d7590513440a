import type { TSchema } from '@sinclair/typebox'

/** What is sent for a body: a form for a schema with a file, JSON for others, a text as it is. */
export function payloadOf(schema: TSchema | undefined, body: unknown): FormData | string | undefined {
  if (body === undefined || typeof body === 'string') return body
  const properties: Record<string, TSchema> = schema?.properties ?? {}
  const isForm = Object.values(properties).some(isFile)
  if (!isForm || typeof body !== 'object' || body === null) return JSON.stringify(body)
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    const property = properties[name]
    if (property && isFile(property)) form.append(name, fileOf(property, value), 'file')
    else form.append(name, String(value))
  }
  return form
}

const isFile = ({ format }: TSchema) => format === 'binary'

function fileOf({ mediaTypes }: TSchema, value: unknown): Blob {
  const [type = 'application/octet-stream'] = (mediaTypes ?? []) as string[]
  return new Blob([String(value)], { type: type.replace('*', 'x-any') })
}
