/** The part of an OpenAPI 3.1 document that is completed after its generation. */
export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Record<string, JsonSchema>
    readonly securitySchemes: Record<string, unknown>
    headers?: Record<string, unknown>
  }
  /** The requests for each event type. */
  webhooks?: Record<string, { readonly post: Operation }>
  tags?: { name: string; description?: string }[]
}

export interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: JsonSchema
}

export interface Response {
  readonly description: string
  headers?: Record<string, unknown>
  readonly content?: Content
}

/** `encoding` is of a form: the media types that each file may have. */
export type Content = Readonly<
  Record<
    string,
    { schema?: JsonSchema; encoding?: Readonly<Record<string, { readonly contentType: string }>> }
  >
>

export interface JsonSchema {
  [keyword: string]: unknown
}

/** Every operation, with its method in lower case. */
export function operationsOf({
  paths,
}: OpenapiDocument): (readonly [method: string, operation: Operation])[] {
  return Object.values(paths).flatMap((item) => Object.entries(item))
}
