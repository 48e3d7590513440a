import type { LoadRequest } from './load.ts'
import { addItem, type Callers, products } from './prepare-callers.ts'

/** The servers to compare the host with. */
export type Other =
  | 'bare'
  | 'bare, grouped commits'
  | 'bare, one statement'
  | 'host, no rate limits'
  | 'host before'

export interface Scenario {
  readonly name: string
  readonly against: readonly Other[]
  /** The requests that one connection repeats. */
  requests(callers: Callers): LoadRequest[]
}

/** A read has no commit. */
const reads = ['bare', 'host, no rate limits', 'host before'] as const
const writes = [
  'bare',
  'bare, grouped commits',
  'bare, one statement',
  'host, no rate limits',
  'host before',
] as const

export const scenarios: readonly Scenario[] = [
  {
    name: 'GET /cart, guest',
    against: reads,
    requests: ({ guest }) => [{ method: 'GET', path: '/cart', headers: guest }],
  },
  {
    name: 'GET /cart, JWT',
    against: reads,
    requests: ({ user }) => [{ method: 'GET', path: '/cart', headers: user }],
  },
  {
    name: 'POST /cart/item, guest',
    against: writes,
    requests: ({ guestWithMany }) => products(20).map((product) => addItem(guestWithMany, product)),
  },
  {
    name: 'POST /cart/item, JWT',
    against: writes,
    requests: ({ userWithMany }) => products(20).map((product) => addItem(userWithMany, product)),
  },
  {
    name: 'POST /cart/item, JWT, with an Idempotency-Key',
    against: writes,
    requests: ({ userWithMany }) =>
      products(20).map((product) => ({ ...addItem(userWithMany, product), withKey: true })),
  },
  {
    name: 'POST /purchase, JWT',
    against: writes,
    requests: ({ user }) => [
      {
        method: 'POST',
        path: '/purchase',
        headers: { ...user, 'content-type': 'application/json' },
        body: JSON.stringify({ items: products(3).map((product) => ({ product, quantity: 2 })) }),
      },
    ],
  },
]
