import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'

/**
 * One invalid part of a request: a JSON Pointer (RFC 6901) into the body, or a parameter's name.
 */
export const InvalidPart = Type.Union(
  [
    Type.Object({ pointer: Type.String(), detail: Type.String() }),
    Type.Object({ parameter: Type.String(), detail: Type.String() }),
  ],
  { title: 'InvalidPart', description: 'a JSON Pointer into the body, or the name of a parameter' },
)
export type InvalidPart = Static<typeof InvalidPart>

/** Problem details (RFC 9457), the body of every error response. Problems may have more members. */
export const ProblemDetails = Type.Object(
  {
    type: Type.String({ description: 'urn:problem-type:<module>:<code>' }),
    title: Type.String({ description: 'constant for each code' }),
    status: Type.Integer({ description: 'the HTTP status' }),
    code: Type.String(),
    detail: Type.String({ description: 'what happened in this case, and what to do' }),
    requestId: Type.String(),
    errors: Type.Optional(Type.Array(InvalidPart)),
  },
  { $id: 'Problem', additionalProperties: true },
)
export type ProblemDetails = Static<typeof ProblemDetails>

/** What all problems of one code have in common. */
export interface ProblemDefinition {
  /** The HTTP status. */
  readonly status: number
  /** Constant per code. */
  readonly title: string
  /** What to do about it, if that is always the same. */
  readonly detail?: string
  /** The schemas of its further members, such as `allowed`: clients know them by the `code`. */
  readonly members?: TProperties
}

/** What one problem has besides its code and detail. */
export interface ProblemOptions extends ErrorOptions {
  /**
   * More members of the response, such as `allowed`. They cannot replace the members of RFC 9457.
   */
  readonly members?: Readonly<Record<string, unknown>>
  /** Response headers, in lower case, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A failure for the caller. Throw it anywhere in a request: it becomes the response. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly module: string
  readonly code: string
  readonly status: number
  readonly title: string
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    module: string,
    code: string,
    definition: ProblemDefinition,
    detail: string,
    options: ProblemOptions = {},
  ) {
    super(detail, options)
    this.module = module
    this.code = code
    this.status = definition.status
    this.title = definition.title
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
  }

  /** The body of the response. */
  toDetails(requestId: string): ProblemDetails {
    const standard = {
      type: `urn:problem-type:${this.module}:${this.code}`,
      title: this.title,
      status: this.status,
      code: this.code,
      detail: this.message,
      requestId,
    }
    return { ...standard, ...this.members, ...standard }
  }
}

/** The problems of one module: the only place with their status and title. */
export interface Problems<Code extends string> {
  readonly definitions: Readonly<Record<Code, ProblemDefinition>>
  /** Makes a problem to throw. `detail` states what happened and what to do about it. */
  create(code: Code, detail?: string, options?: ProblemOptions): Problem
  /** Response schemas by status, for a route's `schema.response`: `{ 200: Cart, ...responses('cart-full') }`. */
  responses(...codes: Code[]): Record<number, TSchema>
}

/** @param module its id: the type of each problem is `urn:problem-type:<module>:<code>` */
export function defineProblems<Code extends string>(
  module: string,
  definitions: Readonly<Record<Code, ProblemDefinition>>,
): Problems<Code> {
  return {
    definitions,
    create(code, detail, options) {
      const definition = definitions[code]
      return new Problem(module, code, definition, detail ?? definition.detail ?? definition.title, options)
    },
    responses(...codes) {
      const byStatus = Map.groupBy(codes, (code) => definitions[code].status)
      const responses = Array.from(byStatus, ([status, some]) => {
        const description = some.map((code) => `\`${code}\`: ${definitions[code].title}`).join('; ')
        const [plain, special] = [false, true].map((has) =>
          some.filter((code) => (definitions[code].members !== undefined) === has),
        ) as [Code[], Code[]]
        const forms = special.map((code) =>
          Type.Object({ code: Type.Literal(code), ...definitions[code].members }),
        )
        const content = problemContent([...(plain.length > 0 ? [oneOf(plain)] : []), ...forms])
        return [status, Type.Unsafe({ description, content })]
      })
      return Object.fromEntries(responses)
    },
  }
}

const oneOf = (codes: readonly string[]) =>
  Type.Object({ code: Type.Unsafe({ type: 'string', enum: codes }) })

/** The content of a response with a problem. @param forms what a problem of it has: its code, and more members */
export function problemContent(forms: readonly TSchema[]) {
  const form = forms.length === 1 ? forms[0] : { anyOf: forms }
  return { 'application/problem+json': { schema: { allOf: [{ $ref: 'Problem#' }, form] } } }
}

/** The forms of `problemContent`, or the schema of another content. */
export function formsOf(content: { 'application/problem+json': { schema: TSchema } }): readonly TSchema[] {
  const { schema } = content['application/problem+json']
  const form: TSchema = schema.allOf?.[1] ?? schema
  return form.anyOf ?? [form]
}
