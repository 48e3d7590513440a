import { type Asked, type Caller, type Cut, isUndecided, type Reply } from '../../harness/caller.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import type { Buyer, Ended, Line, Purchase, Shop } from './shop.ts'

/** A purchase as the API shows it. */
interface Shown {
  readonly id: string
  readonly items: readonly (Line & { readonly unitPrice: { readonly amount: number } })[]
  readonly total: { readonly amount: number }
}

/** The shop of `api-product`, `api-cart` and `api-purchase`: each request goes to any of the hosts. */
export async function apiShop(hosts: HostGroup): Promise<Shop> {
  const manager = await hosts.user('manager', undefined, 'product:manage purchase:read')
  const manage = async (asked: Asked) => {
    const reply = await manager.insist(asked)
    if (reply.status >= 300 && reply.code !== 'product-exists') throw unexpected(asked, reply)
    return reply
  }
  return {
    async createProduct({ id, stock, price }) {
      const body = { id, name: id, stock, price: euros(price) }
      await manage({ method: 'POST', path: '/product', body })
    },
    async setPrice(id, price) {
      const headers = { 'if-match': '*' }
      await manage({ method: 'PATCH', path: `/product/${id}`, headers, body: { price: euros(price) } })
    },
    stockOf: async (id) => (await manage({ method: 'GET', path: `/product/${id}` })).json.stock,
    async purchases() {
      const path = '/purchase?owner=*&status=pending,confirmed,completed&expand=items&rpp=100'
      return (await manager.list<Shown>(path)).map(purchaseOf)
    },
    buyer: async (name) => buyerOf(await hosts.user(name)),
  }
}

function buyerOf(caller: Caller): Buyer {
  const send = async (asked: Asked, cut: Cut) => {
    const reply = await caller.send(asked, cut).catch(() => undefined)
    if (reply?.code === 'internal-error') throw unexpected(asked, reply)
    return reply && !isUndecided(reply) ? reply : undefined
  }
  const end = async (asked: Asked, cut: Cut): Promise<Ended | undefined> => {
    const reply = await send(asked, cut)
    if (reply?.code === 'purchase-not-found' || reply?.code === 'illegal-transition') return 'before'
    if (reply && reply.status !== 200) throw unexpected(asked, reply)
    return reply && 'now'
  }
  return {
    async fill(items, key, cut) {
      const asked: Asked = { method: 'PUT', path: '/cart', headers: keyed(key), body: { items } }
      const reply = await send(asked, cut)
      if (reply && reply.status !== 200) throw unexpected(asked, reply)
      return reply && true
    },
    async reserve(key, cut) {
      const asked: Asked = { method: 'POST', path: '/cart/reservation', headers: keyed(key) }
      const reply = await send(asked, cut)
      if (reply?.code === 'out-of-stock') return 'out of stock'
      if (reply && reply.status !== 200) throw unexpected(asked, reply)
      return reply && true
    },
    reserved: async () =>
      (await caller.insist({ method: 'GET', path: '/cart' })).json.reservation?.items ?? [],
    async buy(items, key, cut) {
      const asked: Asked = { method: 'POST', path: '/purchase', headers: keyed(key), body: { items } }
      const reply = await send(asked, cut)
      if (reply?.code === 'out-of-stock') return 'out of stock'
      if (reply && reply.status !== 201) throw unexpected(asked, reply)
      return reply && purchaseOf(reply.json)
    },
    cancel({ id }, key, cut) {
      const body = { status: 'cancelled' }
      return end({ method: 'PATCH', path: `/purchase/${id}`, headers: keyed(key), body }, cut)
    },
    remove: ({ id }, key, cut) =>
      end({ method: 'DELETE', path: `/purchase/${id}`, headers: keyed(key) }, cut),
  }
}

const keyed = (key: string) => ({ 'idempotency-key': key })
const euros = (amount: number) => ({ amount, currency: 'EUR' })

const purchaseOf = ({ id, items, total }: Shown): Purchase => ({
  id,
  lines: items.map(({ product, quantity, unitPrice }) => ({ product, quantity, price: unitPrice.amount })),
  total: total.amount,
})

const unexpected = ({ method, path }: Asked, { status, text }: Reply) =>
  new Error(`${method} ${path} got ${status} ${text}`)
