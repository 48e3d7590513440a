import { expiryDay, newId } from '@mortise/module-sdk'
import { Pool, type PoolClient, types } from 'pg'
import { type BareCaller, GUEST_LIFETIME, hashOf, knownGuest } from './callers.ts'
import { type Item, type Line, MAX_ITEMS, MAX_QUANTITY, toCart, toItem } from './cart.ts'
import { withOneStatement } from './one-statement.ts'
import { migrationTexts } from './open-database.ts'
import { toPurchase, type Wanted } from './purchases.ts'
import type { BareStore } from './store.ts'

export interface PostgresOptions {
  /** The URL of a PostgreSQL server. */
  readonly url: string
  /** The schema for its tables. */
  readonly schema: string
  /** Whether each write is one statement in a pipeline. */
  readonly oneStatement: boolean
}

/** The same number as in the host. */
const CONNECTIONS = 16

const LINES = `
  SELECT cart.id AS "cartId", cart.version AS "cartVersion", cart.created_at AS "cartCreatedAt",
    cart.updated_at AS "cartUpdatedAt", cart.expires_at AS "cartExpiresAt",
    item.id, item.product, item.quantity, item.version,
    item.created_at AS "createdAt", item.updated_at AS "updatedAt"
  FROM cart LEFT JOIN cart_item AS item ON item.cart_id = cart.id
  WHERE cart.owner = $1 AND cart.expires_at > $2
  ORDER BY item.since_version`

const ADD_ITEM = `
  INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, 1, $6, $6)
  ON CONFLICT (cart_id, product) DO UPDATE SET
    quantity = cart_item.quantity + excluded.quantity,
    version = cart_item.version + 1,
    updated_at = excluded.updated_at
  WHERE cart_item.quantity + excluded.quantity <= ${MAX_QUANTITY}
  RETURNING id, product, quantity, version, created_at AS "createdAt", updated_at AS "updatedAt"`

/**
 * The same work on PostgreSQL, with prepared statements. Each write is a SERIALIZABLE transaction
 * that is retried on a conflict.
 */
export async function openPostgresStore({ url, schema, oneStatement }: PostgresOptions): Promise<BareStore> {
  const pool = new Pool({
    connectionString: url,
    options: `-c search_path=${schema}`,
    max: CONNECTIONS,
    types: {
      getTypeParser: (type: number) => (type === types.builtins.INT8 ? Number : types.getTypeParser(type)),
    },
  })
  await pool.query(`CREATE SCHEMA ${schema}`)
  for (const text of migrationTexts('postgres')) await pool.query(text)

  /** Prepared once per connection, by name. */
  const ask = async (on: Pool | PoolClient, name: string, text: string, values: unknown[]) =>
    (await on.query({ name, text, values })).rows

  async function transaction<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    for (;;) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE')
        const result = await work(client)
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK')
        if ((error as { code?: string }).code !== '40001') throw error
      } finally {
        client.release()
      }
    }
  }

  async function keep(client: PoolClient, { guest }: BareCaller, now: number): Promise<void> {
    if (guest?.newToken) {
      const text = `
        INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day) VALUES ($1, $2, $3, $4, $5)`
      const expiresAt = now + GUEST_LIFETIME
      await ask(client, 'store', text, [
        guest.id,
        hashOf(guest.newToken),
        now,
        expiresAt,
        expiryDay(expiresAt),
      ])
    } else if (guest) {
      const text = 'UPDATE mortise_guest SET expires_at = $1 WHERE id = $2 AND expires_at > $3 RETURNING id'
      const kept = await ask(client, 'renew', text, [now + GUEST_LIFETIME, guest.id, now])
      if (kept.length === 0) throw new Error('the guest has expired')
    }
  }

  async function startCart(client: PoolClient, owner: string, now: number, expiresAt: number) {
    const cart = { id: newId('cart'), version: 1 }
    await ask(client, 'expire', 'DELETE FROM cart WHERE owner = $1 AND expires_at <= $2', [owner, now])
    const text = `
      INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
      VALUES ($1, $2, 1, $3, $3, $4, $5)`
    await ask(client, 'start', text, [cart.id, owner, now, expiresAt, expiryDay(expiresAt)])
    return cart
  }

  async function add(client: PoolClient, caller: BareCaller, { product, quantity }: Wanted, now: number) {
    const { owner, lifetime } = caller
    const touch = `
      UPDATE cart SET version = version + 1, updated_at = $1, expires_at = $2
      WHERE owner = $3 AND expires_at > $1 RETURNING id, version`
    const [touched] = await ask(client, 'touch', touch, [now, now + lifetime, owner])
    const cart = touched ?? (await startCart(client, owner, now, now + lifetime))
    const values = [newId('item'), cart.id, cart.version, product, quantity, now]
    const [item] = (await ask(client, 'add', ADD_ITEM, values)) as Item[]
    if (!item) throw new Error(`more than ${MAX_QUANTITY} of this product`)
    const added = item.version === 1
    if (added) {
      const text = 'SELECT count(*) AS count FROM cart_item WHERE cart_id = $1'
      const [{ count }] = (await ask(client, 'count', text, [cart.id])) as [{ count: number }]
      if (count > MAX_ITEMS) throw new Error('the cart is full')
    }
    return { item: toItem(item), added }
  }

  async function create(client: PoolClient, { owner }: BareCaller, wanted: readonly Wanted[], now: number) {
    const purchase = toPurchase(wanted, now)
    const next = `SELECT nextval(pg_get_serial_sequence('purchase', 'seq')) AS seq`
    const [{ seq }] = (await ask(client, 'next', next, [])) as [{ seq: number }]
    const { id, itemCount, totalQuantity, items } = purchase
    const insert = `
      INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
      VALUES ($1, $2, $3, 'pending', $4, $5, 1, $6, $6)`
    await ask(client, 'insert', insert, [seq, id, owner, itemCount, totalQuantity, now])
    const places = items.map(
      (_, index) => `($1, ${[1, 2, 3, 4].map((place) => `$${index * 4 + place + 1}`)}, 0)`,
    )
    await ask(
      client,
      `items ${items.length}`,
      `INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, taken) VALUES ${places}`,
      [seq, ...items.flatMap((item, position) => [position, item.id, item.product, item.quantity])],
    )
    return { ...purchase, number: Number(seq) }
  }

  const byHand: BareStore = {
    async findGuest(token) {
      const text = 'SELECT id FROM mortise_guest WHERE token_hash = $1 AND expires_at > $2'
      const [row] = await ask(pool, 'guest', text, [hashOf(token), Date.now()])
      return row && knownGuest(row.id)
    },
    showCart: async ({ owner }) => toCart((await ask(pool, 'lines', LINES, [owner, Date.now()])) as Line[]),
    addItem: (caller, wanted) =>
      transaction(async (client) => {
        const now = Date.now()
        await keep(client, caller, now)
        return add(client, caller, wanted, now)
      }),
    createPurchase: (caller, wanted) =>
      transaction(async (client) => {
        const now = Date.now()
        await keep(client, caller, now)
        return create(client, caller, wanted, now)
      }),
    close: () => pool.end(),
  }
  return oneStatement ? withOneStatement(byHand, { url, schema, connections: CONNECTIONS }) : byHand
}
