import type { Model } from './check-history.ts'

/** A line of a cart. */
export interface Line {
  /** Undefined of one that came with a request that had no response, as long as nobody has seen it. */
  readonly id: string | undefined
  readonly product: string
  readonly quantity: number
  readonly version: number
}

interface Cart {
  /** Null of one that never was, undefined of one that nobody has seen yet. */
  readonly id: string | null | undefined
  readonly version: number
  /** In the order added. */
  readonly lines: readonly Line[]
}

/** What If-Match names. */
export interface Seen {
  readonly id: string
  readonly version: number
}

export type CartInput =
  | { readonly kind: 'read'; readonly caller: string }
  | { readonly kind: 'read item'; readonly caller: string; readonly id: string }
  | {
      readonly kind: 'add'
      readonly caller: string
      readonly product: string
      readonly quantity: number
      readonly ifMatch?: Seen | undefined
    }
  | {
      readonly kind: 'change'
      readonly caller: string
      readonly id: string
      readonly quantity: number
      readonly ifMatch?: Seen | undefined
    }
  | {
      readonly kind: 'remove'
      readonly caller: string
      readonly id: string
      readonly ifMatch?: Seen | undefined
    }
  | { readonly kind: 'clear'; readonly caller: string; readonly ifMatch?: Seen | undefined }
  | { readonly kind: 'claim'; readonly caller: string; readonly guest: string }

export interface CartOutput {
  readonly status: number
  readonly cart?: Cart
  readonly line?: Line
}

export interface CartState {
  /** By caller. */
  readonly carts: Readonly<Record<string, Cart>>
  /** By guest, who has claimed it. */
  readonly claimed: Readonly<Record<string, string>>
}

type Of<Kind> = Extract<CartInput, { kind: Kind }>
type Output = CartOutput | undefined

const MAX_QUANTITY = 9999
const never: Cart = { id: null, version: 0, lines: [] }

/** The carts of users and guests, as the HTTP contract has them: one request after the other. */
export const cartModel: Model<CartState, CartInput, CartOutput> = {
  initial: { carts: {}, claimed: {} },
  step(state, input, output) {
    if (input.caller in state.claimed) return unless(output, 401, state)
    switch (input.kind) {
      case 'read':
        return read(state, input, output)
      case 'read item':
        return readItem(state, input, output)
      case 'add':
        return add(state, input, output)
      case 'change':
        return change(state, input, output)
      case 'remove':
        return remove(state, input, output)
      case 'clear':
        return clear(state, input, output)
      case 'claim':
        return claim(state, input, output)
    }
  },
  isRead: ({ kind }, { status }) => kind === 'read' || kind === 'read item' || status >= 400,
  // Versions rise, lines keep their order, nobody's cart becomes another one, and a claimed guest stays claimed.
  isPast(state, input, output) {
    const { caller } = input
    const { status, cart: seen, line } = output
    if (caller in state.claimed) return status !== 401
    const cart = cartOf(state, caller)
    if (line !== undefined)
      return cart.lines.some(({ id, version }) => id === line.id && version > line.version)
    if (seen === undefined || seen.version > cart.version)
      return seen !== undefined && isOtherwise(cart, seen)
    return seen.version < cart.version || read(state, { kind: 'read', caller }, output) === undefined
  },
}

/** Whether lines of the cart have changed, or are in another order, than in one of a later version. */
function isOtherwise(cart: Cart, later: Cart): boolean {
  let last = -1
  for (const { id, version } of cart.lines) {
    const at = id === undefined ? -1 : later.lines.findIndex((line) => line.id === id)
    if (at === -1) continue
    if (at < last || version > (later.lines[at] as Line).version) return true
    last = at
  }
  return false
}

const cartOf = (state: CartState, caller: string): Cart => state.carts[caller] ?? never

/** The state, unless there is another response than this status. */
function unless(output: Output, status: number, state: CartState): CartState | undefined {
  return output === undefined || output.status === status ? state : undefined
}

function withCart(state: CartState, caller: string, cart: Cart): CartState {
  return cart === cartOf(state, caller) ? state : { ...state, carts: { ...state.carts, [caller]: cart } }
}

const isStale = (resource: { id?: string | null | undefined; version: number }, ifMatch?: Seen) =>
  ifMatch !== undefined && (resource.id !== ifMatch.id || resource.version !== ifMatch.version)

/** Each change raises the version by one; the first starts the cart. */
const changed = (cart: Cart, lines: readonly Line[]): Cart => ({
  id: cart.id === null ? undefined : cart.id,
  version: cart.version + 1,
  lines,
})

/** The line, with its id; undefined where another one was seen. */
function asSeen(line: Line, seen: Line | undefined): Line | undefined {
  if (seen === undefined) return undefined
  if (line.product !== seen.product || line.quantity !== seen.quantity || line.version !== seen.version)
    return undefined
  if (line.id === undefined) return seen
  return line.id === seen.id ? line : undefined
}

function read(state: CartState, { caller }: Of<'read'>, output: Output): CartState | undefined {
  if (output === undefined) return state
  const cart = cartOf(state, caller)
  const seen = output.cart
  if (output.status !== 200 || seen?.lines.length !== cart.lines.length) return undefined
  if (seen.version !== cart.version || (cart.id !== undefined && seen.id !== cart.id)) return undefined
  const lines: Line[] = []
  for (const [index, line] of cart.lines.entries()) {
    const known = asSeen(line, seen.lines[index])
    if (known === undefined) return undefined
    lines.push(known)
  }
  const isKnown = cart.id !== undefined && lines.every((line, index) => line === cart.lines[index])
  return isKnown ? state : withCart(state, caller, { ...cart, id: seen.id, lines })
}

function readItem(state: CartState, { caller, id }: Of<'read item'>, output: Output): CartState | undefined {
  const line = cartOf(state, caller).lines.find((line) => line.id === id)
  if (line === undefined) return unless(output, 404, state)
  if (output === undefined || asSeen(line, output.line) !== undefined) return unless(output, 200, state)
  return undefined
}

function add(state: CartState, input: Of<'add'>, output: Output): CartState | undefined {
  const { caller, product, quantity, ifMatch } = input
  const cart = cartOf(state, caller)
  if (isStale(cart, ifMatch)) return unless(output, 412, state)
  const at = cart.lines.findIndex((line) => line.product === product)
  const present = cart.lines[at]
  if (present !== undefined && present.quantity + quantity > MAX_QUANTITY) return unless(output, 409, state)
  const line: Line =
    present === undefined
      ? { id: undefined, product, quantity, version: 1 }
      : { ...present, quantity: present.quantity + quantity, version: present.version + 1 }
  const known = output === undefined ? line : asSeen(line, output.line)
  if (known === undefined) return undefined
  const lines = present === undefined ? [...cart.lines, known] : cart.lines.with(at, known)
  return unless(output, present === undefined ? 201 : 200, withCart(state, caller, changed(cart, lines)))
}

function change(state: CartState, input: Of<'change'>, output: Output): CartState | undefined {
  const { caller, id, quantity, ifMatch } = input
  const cart = cartOf(state, caller)
  const at = cart.lines.findIndex((line) => line.id === id)
  const present = cart.lines[at]
  if (present === undefined) return unless(output, 404, state)
  if (isStale(present, ifMatch)) return unless(output, 412, state)
  const isSame = present.quantity === quantity
  const line = isSame ? present : { ...present, quantity, version: present.version + 1 }
  if (output !== undefined && asSeen(line, output.line) === undefined) return undefined
  const next = isSame ? state : withCart(state, caller, changed(cart, cart.lines.with(at, line)))
  return unless(output, 200, next)
}

function remove(state: CartState, input: Of<'remove'>, output: Output): CartState | undefined {
  const { caller, id, ifMatch } = input
  const cart = cartOf(state, caller)
  const present = cart.lines.find((line) => line.id === id)
  if (present === undefined) return unless(output, 404, state)
  if (isStale(present, ifMatch)) return unless(output, 412, state)
  const lines = cart.lines.filter((line) => line !== present)
  return unless(output, 200, withCart(state, caller, changed(cart, lines)))
}

function clear(state: CartState, { caller, ifMatch }: Of<'clear'>, output: Output): CartState | undefined {
  const cart = cartOf(state, caller)
  if (isStale(cart, ifMatch)) return unless(output, 412, state)
  if (cart.lines.length === 0) return unless(output, 200, state)
  return unless(output, 200, withCart(state, caller, changed(cart, [])))
}

function claim(state: CartState, { caller, guest }: Of<'claim'>, output: Output): CartState | undefined {
  const by = state.claimed[guest]
  if (by !== undefined) return unless(output, by === caller ? 200 : 404, state)
  const { [guest]: from = never, ...carts } = state.carts
  const claimed = { ...state.claimed, [guest]: caller }
  const into = cartOf(state, caller)
  return unless(output, 200, withCart({ carts, claimed }, caller, merged(from, into)))
}

/** Of a product in both the larger quantity; the lines that are in one alone stay in order, behind those that were there. */
function merged(from: Cart, into: Cart): Cart {
  if (from.id === null) return into
  if (into.id === null) return { ...from, version: from.version + 1 }
  const raised = into.lines.map((line) => {
    const other = from.lines.find(({ product }) => product === line.product)
    if (other === undefined || other.quantity <= line.quantity) return line
    return { ...line, quantity: other.quantity, version: line.version + 1 }
  })
  const moved = from.lines.filter((line) => into.lines.every(({ product }) => product !== line.product))
  const isSame = moved.length === 0 && raised.every((line, index) => line === into.lines[index])
  if (isSame) return into
  return { id: into.id, version: into.version + from.version, lines: [...raised, ...moved] }
}
