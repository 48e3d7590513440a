import { randomUUID } from 'node:crypto'
import type { LoadRequest } from './load.ts'

type Credentials = Readonly<Record<string, string>>

/** The callers of one connection. */
export interface Callers {
  /** Has a cart with 3 items. */
  readonly guest: Credentials
  readonly user: Credentials
  /** Has a cart with 20 items. Adding to them for minutes reaches no limit. */
  readonly guestWithMany: Credentials
  readonly userWithMany: Credentials
}

export const products = (count: number) =>
  Array.from({ length: count }, (_, index) => `espresso-beans-${index + 1}kg`)

export const addItem = (credentials: Credentials, product: string): LoadRequest => ({
  method: 'POST',
  path: '/cart/item',
  headers: { ...credentials, 'content-type': 'application/json' },
  body: JSON.stringify({ product, quantity: 1 }),
})

/** Fills the callers' carts for each connection, through the API of the server at `url`. */
export async function prepareCallers(url: string, tokens: readonly string[]): Promise<Callers[]> {
  const half = tokens.length / 2
  const users = tokens.map((token) => ({ authorization: `Bearer ${token}` }))
  const callers: Callers[] = []
  for (let index = 0; index < half; index++) {
    const [guest, user, guestWithMany, userWithMany] = await Promise.all([
      fillCart(url, {}, 3),
      fillCart(url, users[index] as Credentials, 3),
      fillCart(url, {}, 20),
      fillCart(url, users[half + index] as Credentials, 20),
    ])
    callers.push({ guest, user, guestWithMany, userWithMany })
  }
  return callers
}

/** @returns the credentials; a guest's come with the first response */
async function fillCart(url: string, credentials: Credentials, count: number): Promise<Credentials> {
  let known = credentials
  for (const product of products(count)) {
    const response = await send(url, addItem(known, product))
    if (response.status !== 201)
      throw new Error(`${url} returned ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
    const token = response.headers.get('guest-token')
    if (token !== null) known = { 'guest-token': token }
  }
  return known
}

export function send(url: string, { method, path, headers, body, withKey }: LoadRequest): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...(withKey && { 'idempotency-key': randomUUID() }) },
    ...(body === undefined ? {} : { body }),
  })
}
