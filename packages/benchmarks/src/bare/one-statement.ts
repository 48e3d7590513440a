import { newId } from '@mortise/module-sdk'
import { Client, types } from 'pg'
import { GUEST_LIFETIME } from './callers.ts'
import { type Item, MAX_ITEMS, MAX_QUANTITY, toItem } from './cart.ts'
import { toPurchase } from './purchases.ts'
import type { BareStore } from './store.ts'

// The limit on PostgreSQL, which nobody would write by hand: each write is one statement with all
// its parts, so it is a transaction of its own and one round trip. Statements of several callers
// travel in one pipeline.

/** Whether the item's new quantity, or the cart's new item, is within the limits. */
const FITS = `coalesce(
  (SELECT quantity FROM cart_item WHERE cart_id = cart.id AND product = $5) + $6 <= ${MAX_QUANTITY},
  (SELECT count(*) FROM cart_item WHERE cart_id = cart.id) < ${MAX_ITEMS})`

const addItem = (before: string, condition: string) => `
  WITH ${before} touched AS (
    UPDATE cart SET version = version + 1, updated_at = $1, expires_at = $2
    WHERE owner = $3 AND expires_at > $1 AND ${FITS} ${condition} RETURNING id, version)
  INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
  SELECT $4, id, version, $5, $6, 1, $1, $1 FROM touched
  ON CONFLICT (cart_id, product) DO UPDATE SET
    quantity = cart_item.quantity + excluded.quantity,
    version = cart_item.version + 1,
    updated_at = excluded.updated_at
  RETURNING id, product, quantity, version, created_at AS "createdAt", updated_at AS "updatedAt"`

const ADD_OF_USER = addItem('', '')
const ADD_OF_GUEST = addItem(
  'kept AS (UPDATE mortise_guest SET expires_at = $7 WHERE id = $8 AND expires_at > $1 RETURNING id),',
  'AND EXISTS (SELECT 1 FROM kept)',
)

const BUY = `
  WITH next AS MATERIALIZED (SELECT nextval(pg_get_serial_sequence('purchase', 'seq')) AS seq),
  bought AS (
    INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
    SELECT seq, $1, $2, 'pending', $3, $4, 1, $5, $5 FROM next)
  INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, taken)
  SELECT seq, item.position - 1, item.id, item.product, item.quantity, 0
  FROM next, unnest($6::text[], $7::text[], $8::int[])
    WITH ORDINALITY AS item (id, product, quantity, position)
  RETURNING purchase_seq AS number`

/** `byHand`, but for the writes of known callers. What is rare or wrong is left to it. */
export async function withOneStatement(
  byHand: BareStore,
  { url, schema, connections }: { url: string; schema: string; connections: number },
): Promise<BareStore> {
  const clients = Array.from(
    { length: connections },
    () =>
      new Client({
        connectionString: url,
        options: `-c search_path=${schema} -c default_transaction_isolation=serializable`,
        pipeline: true,
        types: {
          getTypeParser: (type: number) =>
            type === types.builtins.INT8 ? Number : types.getTypeParser(type),
        },
      }),
  )
  await Promise.all(clients.map((client) => client.connect()))
  let turn = 0

  async function ask<Row>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    for (;;) {
      turn = (turn + 1) % connections
      try {
        return (await (clients[turn] as Client).query({ name, text, values })).rows
      } catch (error) {
        if ((error as { code?: string }).code !== '40001') throw error
      }
    }
  }

  return {
    ...byHand,
    async addItem(caller, wanted) {
      const { owner, lifetime, guest } = caller
      if (guest?.newToken) return byHand.addItem(caller, wanted)
      const now = Date.now()
      const values = [now, now + lifetime, owner, newId('item'), wanted.product, wanted.quantity]
      const [item] = guest
        ? await ask<Item>('add of guest', ADD_OF_GUEST, [...values, now + GUEST_LIFETIME, guest.id])
        : await ask<Item>('add of user', ADD_OF_USER, values)
      if (item === undefined) return byHand.addItem(caller, wanted)
      return { item: toItem(item), added: item.version === 1 }
    },
    async createPurchase(caller, wanted) {
      if (caller.guest) return byHand.createPurchase(caller, wanted)
      const now = Date.now()
      const purchase = toPurchase(wanted, now)
      const { id, itemCount, totalQuantity, items } = purchase
      const [bought] = await ask<{ number: string }>('buy', BUY, [
        ...[id, caller.owner, itemCount, totalQuantity, now],
        items.map((item) => item.id),
        items.map((item) => item.product),
        items.map((item) => item.quantity),
      ])
      return { ...purchase, number: Number(bought?.number) }
    },
    async close() {
      await Promise.all([byHand.close(), ...clients.map((client) => client.end())])
    },
  }
}
