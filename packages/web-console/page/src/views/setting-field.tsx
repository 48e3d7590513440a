import { texts } from '../texts.ts'
import type { Schema, Setting } from './module.ts'

const t = texts.modules.settings

export interface Field {
  readonly kind: 'boolean' | 'integer' | 'number' | 'choice' | 'text' | 'list' | 'json'
  readonly choices: readonly string[]
  readonly schema: Schema
  readonly isSecret: boolean
  readonly isSet: boolean
  readonly range: string
}

/** The form of a setting, from its schema, or else from its default. */
export function fieldOf({ schema = {}, default: byDefault, value, secret, source }: Setting): Field {
  const choices = (
    schema.enum ??
    schema.anyOf?.map((one) => (one as { const?: unknown }).const) ??
    []
  ).filter((one) => typeof one === 'string') as readonly string[]
  const isSecret = secret === true || schema.writeOnly === true
  const of = schema.type ?? typeOf(byDefault ?? value)
  const isTexts = of === 'array' && (schema.items?.type ?? 'string') === 'string'
  const kind: Field['kind'] =
    choices.length > 0
      ? 'choice'
      : of === 'boolean' || of === 'integer' || of === 'number'
        ? of
        : of === 'string'
          ? 'text'
          : isTexts
            ? 'list'
            : 'json'
  const { minimum, maximum } = schema
  const isSet = source !== 'none' && source !== 'default'
  return { kind, choices, schema, isSecret, isSet, range: t.range(minimum, maximum) }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  return value === null || value === undefined ? 'string' : typeof value
}

/** A value as the form shows it. */
export function showEntry({ kind, isSecret }: Field, value: unknown): string {
  if (isSecret || value === null || value === undefined) return ''
  if (kind === 'list') return (value as readonly string[]).join('\n')
  return kind === 'json' ? JSON.stringify(value, null, 2) : String(value)
}

/** What the command takes as the value; undefined for what is no value of the schema. */
export function parseEntry({ kind, schema: { minimum, maximum } }: Field, text: string): string | undefined {
  const inRange = (value: number) => value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity)
  switch (kind) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text.trim()) && inRange(Number(text)) ? text.trim() : undefined
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) && inRange(Number(text))
        ? text.trim()
        : undefined
    case 'list':
      return JSON.stringify(
        text
          .split('\n')
          .map((line) => line.trim())
          .filter(Boolean),
      )
    case 'json':
      try {
        JSON.parse(text)
        // As typed: the command judges it, and JSON.parse would round a number.
        return text.trim()
      } catch {
        return undefined
      }
    default:
      return text
  }
}

interface EntryProps {
  readonly field: Field
  readonly id: string
  readonly describedBy: string
  readonly text: string
  readonly isInvalid: boolean
  readonly isReadOnly: boolean
  set(text: string): void
}

export function Entry({ field, id, describedBy, text, isInvalid, isReadOnly, set }: EntryProps) {
  const shared = {
    id,
    class: 'input',
    'aria-describedby': describedBy,
    'aria-invalid': isInvalid ? ('true' as const) : undefined,
    value: text,
  }
  const type = (event: { readonly currentTarget: { readonly value: string } }) =>
    set(event.currentTarget.value)
  if (field.kind === 'boolean' || field.kind === 'choice') {
    const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices
    return (
      <select {...shared} disabled={isReadOnly} onChange={type}>
        {text === '' && <option value="">—</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  }
  if (field.kind === 'list' || field.kind === 'json')
    return (
      <textarea
        {...shared}
        rows={3}
        readOnly={isReadOnly}
        placeholder={field.kind === 'list' ? t.list : t.json}
        onInput={type}
      />
    )
  const typed = { ...shared, autocomplete: 'off', readOnly: isReadOnly, onInput: type } as const
  const isNumber = field.kind === 'integer' || field.kind === 'number'
  return <input {...typed} type="text" inputMode={isNumber ? 'numeric' : 'text'} />
}
