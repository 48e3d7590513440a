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
  /** Its standard input: the value of a setting. */
  readonly input?: string
}

interface Kind {
  readonly command: string
  /** The words before those of the page. */
  readonly words?: readonly string[]
  /** The options that the page may choose. */
  readonly options?: readonly (keyof NonNullable<WantedChange['options']>)[]
  /** Always there. */
  readonly always?: Options
  /** Whether the last argument goes to its standard input, since other users see the arguments of a process. */
  readonly hasInput?: boolean
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
  'config-set': { command: 'config', words: ['set'], hasInput: true },
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
  const { command, words = [], always = {}, hasPlan = false, hasInput = false } = kind
  const chosen = Object.entries(options).map(([option, value]) => {
    if (!kind.options?.some((one) => one === option))
      throw invalidRequest({ pointer: `/options/${option}`, detail: `is no option of ${name}` })
    return [option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), value] as const
  })
  if (hasInput && args.length !== 2)
    throw invalidRequest({ pointer: '/args', detail: 'must be the setting and its value' })
  return {
    command,
    words: [...words, ...(hasInput ? [args[0] as string, '-'] : args)],
    options: { ...always, ...Object.fromEntries(chosen) },
    ...(hasInput && { input: args[1] as string }),
    hasPlan,
  }
}

/** As one types it, for people, without what goes to its standard input. */
export function typed({ command, words, options, input }: Call): string {
  const shown = input === undefined ? words : words.slice(0, -1)
  const flags = Object.entries(options).map(([name, value]) =>
    value === true ? `--${name}` : `--${name} ${value}`,
  )
  return ['app', command, ...shown, ...flags].join(' ')
}

/**
 * The plan of the call, and the call that applies this plan only. Without `--yes` no code of a new source
 * runs for a plan: the consent to the plan is the consent to the source.
 * @throws {Problem} `command-failed`
 */
export async function planOf(
  { command, words, options, input, hasPlan }: ReturnType<typeof callOf>,
  read: (...call: Parameters<Operator['run']>) => Promise<unknown>,
): Promise<{ readonly plan: unknown; readonly call: Call }> {
  if (!hasPlan) {
    const plan = command === 'config' ? await read('config', ['get', words[1] ?? '']) : {}
    if (input !== undefined) assertNoSecret(plan as Found, input)
    return { plan, call: { command, words, options, ...(input !== undefined && { input }) } }
  }
  const { settle, yes, ...dry } = options
  const plan = (await read(command, words, { ...dry, 'dry-run': true })) as { readonly digest: string }
  return { plan, call: { command, words, options: { ...options, plan: plan.digest } } }
}

/** What `app config get` says of a setting, or of a group of them. */
type Found = Partial<FoundSetting> & { readonly settings?: readonly FoundSetting[] }
interface FoundSetting {
  readonly key: string
  readonly variable: string
  readonly schema?: { readonly writeOnly?: boolean }
}

/** A plan is stored until the consent, and the command refuses to write a secret into app.config.json. */
function assertNoSecret({ settings, ...found }: Found, input: string): void {
  const isIn = ({ key }: FoundSetting) =>
    settings === undefined || input.includes(`"${key.split('.').at(-1)}"`)
  const secret = (settings ?? [found as FoundSetting]).find(
    (one) => one.schema?.writeOnly === true && isIn(one),
  )
  if (secret === undefined) return
  const detail = `has the secret ${secret.key}, and app.config.json is committed: set the variable ${secret.variable} for the host, in its environment or in the file of "envFile"`
  throw invalidRequest({ pointer: '/args/1', detail })
}
