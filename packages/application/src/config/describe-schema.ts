/** The part of JSON Schema that can be described. */
interface Described {
  readonly [keyword: string]: unknown
}

/** A description of a schema, to follow "must be": `an integer from 1 to 9999`. */
export function describeSchema(schema: Described): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return oneOf(schema.enum.map((value) => JSON.stringify(value)))
  const branches = schema.anyOf ?? schema.oneOf
  if (Array.isArray(branches)) return oneOf(branches.map(describeSchema))
  if (Array.isArray(schema.type)) return oneOf(schema.type.map((type) => describeSchema({ ...schema, type })))
  switch (schema.type) {
    case 'integer':
      return `an integer${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'string':
      return schema.format
        ? `a string of the form ${schema.format}`
        : `a string${count(schema, 'Length', 'character')}`
    case 'array': {
      const example = Array.isArray(schema.examples) ? `, such as ${JSON.stringify(schema.examples[0])}` : ''
      return `an array${count(schema, 'Items', 'item')}${example}`
    }
    default:
      return others[schema.type as string] ?? 'as in the documentation'
  }
}

const others: Readonly<Record<string, string>> = {
  object: 'an object',
  boolean: 'true or false',
  null: 'null',
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Described): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  const least = minimum !== undefined ? ` of at least ${minimum}` : over(' above', exclusiveMinimum)
  const most = maximum !== undefined ? ` of at most ${maximum}` : over(' below', exclusiveMaximum)
  return [least, most].filter(Boolean).join(' and')
}

const over = (word: string, limit: unknown) => (limit === undefined ? '' : `${word} ${limit}`)

function count(schema: Described, of: 'Length' | 'Items', noun: string): string {
  const [minimum, maximum] = [schema[`min${of}`], schema[`max${of}`]]
  if (minimum !== undefined && maximum !== undefined) return ` of ${minimum} to ${maximum} ${noun}s`
  const words = range({ minimum, maximum })
  return words && `${words} ${noun}${(minimum ?? maximum) === 1 ? '' : 's'}`
}

function oneOf(options: readonly string[]): string {
  const unique = [...new Set(options)]
  if (unique.length === 1) return unique[0] as string
  return `${unique.slice(0, -1).join(', ')} or ${unique.at(-1)}`
}
