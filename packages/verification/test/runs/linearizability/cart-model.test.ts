import t from 'tap'
import {
  type CartInput,
  type CartOutput,
  type CartState,
  cartModel,
  type Line,
} from '../../../src/runs/linearizability/cart-model.ts'
import { checkHistory, type Operation } from '../../../src/runs/linearizability/check-history.ts'

type Did = Operation<CartInput, CartOutput>
const LOST = Number.POSITIVE_INFINITY

const did = (input: CartInput, output: CartOutput, called: number, returned = called + 1): Did => ({
  ...{ input, called, returned },
  output: returned === LOST ? undefined : output,
})
const line = (id: string, product: string, quantity: number, version = 1): Line => ({
  ...{ id, product, quantity, version },
})
const added = (caller: string, line: Line, called: number, returned?: number, quantity = line.quantity) =>
  did(
    { kind: 'add', caller, product: line.product, quantity },
    { status: line.version === 1 ? 201 : 200, line },
    called,
    returned,
  )
const saw = (caller: string, version: number, lines: Line[], called: number, id: string | null = 'c') =>
  did({ kind: 'read', caller }, { status: 200, cart: { id, version, lines } }, called)
const claimed = (caller: string, guest: string, status: number, called: number, returned?: number) =>
  did({ kind: 'claim', caller, guest }, { status }, called, returned)
const removed = (caller: string, id: string, status: number, called: number) =>
  did({ kind: 'remove', caller, id }, { status }, called)
const retired = (caller: string, called: number) => did({ kind: 'read', caller }, { status: 401 }, called)

const tea = line('t', 'tea', 2)
const milk = line('m', 'milk', 3)

const histories: readonly [name: string, linearizable: boolean, history: Did[]][] = [
  [
    'no cart before its first line',
    true,
    [saw('u', 0, [], 0, null), added('u', tea, 2), saw('u', 1, [tea], 4)],
  ],
  ['a line lost', false, [added('u', tea, 0), saw('u', 0, [], 2, null)]],
  ['a line doubled', false, [added('u', tea, 0), saw('u', 1, [tea, { ...tea, id: 'x' }], 2)]],
  [
    'quantities added at once',
    true,
    [
      added('u', tea, 0, 5),
      added('u', line('t', 'tea', 4, 2), 0, 5, 2),
      saw('u', 2, [line('t', 'tea', 4, 2)], 6),
    ],
  ],
  ['one of two additions lost', false, [added('u', tea, 0, 5), added('u', tea, 0, 5), saw('u', 1, [tea], 6)]],
  ['a quantity without its version', false, [added('u', tea, 0), saw('u', 1, [line('t', 'tea', 4)], 2)]],
  ['lines in another order', false, [added('u', tea, 0), added('u', milk, 2), saw('u', 2, [milk, tea], 4)]],
  ['an addition without a response, not done', true, [added('u', tea, 0, LOST), saw('u', 0, [], 4, null)]],
  ['done', true, [added('u', tea, 0, LOST), saw('u', 1, [tea], 4)]],
  [
    'done once only, under one id',
    false,
    [added('u', tea, 0, LOST), saw('u', 1, [tea], 4), saw('u', 1, [{ ...tea, id: 'x' }], 6)],
  ],
  [
    'a removal',
    true,
    [added('u', tea, 0), removed('u', 't', 200, 2), removed('u', 't', 404, 4), saw('u', 2, [], 6)],
  ],
  [
    'a removal that does nothing',
    false,
    [added('u', tea, 0), removed('u', 't', 200, 2), saw('u', 1, [tea], 4)],
  ],
  [
    'a cart that is the guest’s',
    true,
    [added('g', tea, 0), claimed('u', 'g', 200, 2), saw('u', 2, [tea], 4), retired('g', 6)],
  ],
  [
    'the larger quantity, and lines behind',
    true,
    [
      ...[
        added('u', line('u', 'tea', 1), 0),
        added('g', milk, 2),
        added('g', tea, 4),
        claimed('u', 'g', 200, 6),
      ],
      saw('u', 3, [line('u', 'tea', 2, 2), milk], 8),
    ],
  ],
  [
    'a claim that changes nothing',
    true,
    [
      added('u', tea, 0),
      added('g', line('x', 'tea', 1), 2),
      claimed('u', 'g', 200, 4),
      saw('u', 1, [tea], 6),
    ],
  ],
  [
    'a claim that leaves the guest its cart',
    false,
    [added('g', tea, 0), claimed('u', 'g', 200, 2), saw('g', 1, [tea], 4)],
  ],
  [
    'a claim that leaves an empty guest',
    false,
    [added('g', tea, 0), claimed('u', 'g', 200, 2, 9), saw('g', 0, [], 3, null)],
  ],
  [
    'a claim repeated',
    true,
    [claimed('u', 'g', 200, 0), claimed('u', 'g', 200, 2), claimed('v', 'g', 404, 4)],
  ],
  ['a claim by two', false, [claimed('u', 'g', 200, 0, 9), claimed('v', 'g', 200, 0, 9)]],
  [
    'a line removed, then lost by a claim that a read shows to be later',
    false,
    [
      ...[added('u', tea, 0), added('g', line('x', 'tea', 1), 2), claimed('u', 'g', 200, 4, 20)],
      ...[removed('u', 't', 200, 6), saw('g', 1, [line('x', 'tea', 1)], 8, 'd'), saw('u', 2, [], 21)],
    ],
  ],
]

for (const [name, linearizable, history] of histories) {
  t.test(name, async (t) => {
    const verdict = checkHistory<CartState, CartInput, CartOutput>(cartModel, history)
    t.equal(verdict.linearizable, linearizable, JSON.stringify(verdict))
  })
}
