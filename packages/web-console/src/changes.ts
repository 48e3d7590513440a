import { invalidRequest, type Operator, Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

type Options = Readonly<Record<string, string | true>>

/** A change as the page asks for it. */
export const WantedChange = Strict(
  {
    command: Type.String({ maxLength: 40 }),
    args: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: 50 }),
    options: Type.Optional(
      Strict({
        purge: Type.Optional(Type.Literal(true)),
        for: Type.Optional(Type.String({ maxLength: 20 })),
        allowNew: Type.Optional(Type.Literal(true)),
      }),
    ),
  },
  { title: 'WantedChange' },
)
export type WantedChange = Static<typeof WantedChange>

/** What `operator.run` gets. */
export interface Call {
  readonly command: string
  readonly words: readonly string[]
  readonly options: Options
}

interface Kind {
  readonly command: string
  /** The words before those of the page. */
  readonly words?: readonly string[]
  /** The options that the page may choose. */
  readonly options?: readonly (keyof NonNullable<WantedChange['options']>)[]
  /** Always there. */
  readonly always?: Options
  /** Without: the command has no plan, or asks nobody. */
  readonly hasPlan?: boolean
}

const settle = { settle: '10' }

const kinds: Readonly<Record<string, Kind>> = {
  'module-install': {
    command: 'module-install',
    options: ['allowNew'],
    always: { yes: true, ...settle },
    hasPlan: true,
  },
  'module-upgrade': {
    command: 'module-upgrade',
    options: ['allowNew'],
    always: { yes: true, ...settle },
    hasPlan: true,
  },
  'module-remove': { command: 'module-remove', options: ['purge'], always: { yes: true }, hasPlan: true },
  'module-rollback': { command: 'module-rollback', always: { yes: true }, hasPlan: true },
  'module-enable': { command: 'module-enable', always: settle, hasPlan: true },
  'module-disable': { command: 'module-disable', hasPlan: true },
  'module-pause': { command: 'module-pause', options: ['for'], hasPlan: true },
  'config-set': { command: 'config', words: ['set'] },
  'config-unset': { command: 'config', words: ['unset'] },
  'events-replay': { command: 'events', words: ['replay'] },
  'events-discard': { command: 'events', words: ['discard'] },
  'work-replay': { command: 'work', words: ['replay'] },
  'work-discard': { command: 'work', words: ['discard'] },
  'doctor-fix': { command: 'doctor', always: { fix: true } },
}

/** @throws {Problem} `invalid-request` for a command or an option that the page may not choose */
export function callOf({ command: name, args, options = {} }: WantedChange): Call & Pick<Kind, 'hasPlan'> {
  const kind = Object.hasOwn(kinds, name) ? (kinds[name] as Kind) : undefined
  if (kind === undefined)
    throw invalidRequest({ pointer: '/command', detail: `must be one of ${Object.keys(kinds).join(', ')}` })
  const { command, words = [], always = {}, hasPlan = false } = kind
  const chosen = Object.entries(options).map(([option, value]) => {
    if (!kind.options?.some((one) => one === option))
      throw invalidRequest({ pointer: `/options/${option}`, detail: `is no option of ${name}` })
    return [option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), value] as const
  })
  return {
    command,
    words: [...words, ...args],
    options: { ...always, ...Object.fromEntries(chosen) },
    hasPlan,
  }
}

/** As one types it, for people. A value of a setting may be secret. */
export function typed({ command, words, options }: Call): string {
  const shown = command === 'config' && words[0] === 'set' ? words.slice(0, 2) : words
  const flags = Object.entries(options).map(([name, value]) =>
    value === true ? `--${name}` : `--${name} ${value}`,
  )
  return ['app', command, ...shown, ...flags].join(' ')
}

/** The plan of the call, and the call that applies this plan only. @throws {Problem} `command-failed` */
export async function planOf(
  { command, words, options, hasPlan }: ReturnType<typeof callOf>,
  read: (...call: Parameters<Operator['run']>) => Promise<unknown>,
): Promise<{ readonly plan: unknown; readonly call: Call }> {
  if (!hasPlan) {
    const plan = command === 'config' ? await read('config', ['get', words[1] ?? '']) : {}
    return { plan, call: { command, words, options } }
  }
  const { settle, ...dry } = options
  const plan = (await read(command, words, { ...dry, 'dry-run': true })) as { readonly digest: string }
  return { plan, call: { command, words, options: { ...options, plan: plan.digest } } }
}
