import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Caller, type Database, type ModuleInstance, newId, run, sql } from '@mortise/module-sdk'
import type { ItemChange } from '../../../../api-cart/src/schemas.ts'
import type { Seams, Unchanged } from './seams.ts'

/** A mistake that the author of a module, or of the host, could make. */
export interface Bug {
  readonly name: string
  readonly seams: Seams
  /** The only engine with this bug. */
  readonly engine?: 'sqlite' | 'postgres'
  /** Whether the bug shows only after a kill. */
  readonly kills?: true
}

export const bugs: readonly Bug[] = [
  {
    name: 'the last write wins on the quantity of a line',
    seams: {
      'api-cart/routes': {
        cartRoutes: ({ cartRoutes }) =>
          beforeRoute(cartRoutes, 'post', '/cart/item', async ({ caller, body }, database) => {
            const rows = await database.many<{ product: string; quantity: number }>(sql`
              SELECT product, quantity FROM cart_item
              WHERE cart_id = (SELECT id FROM cart WHERE owner = ${caller.id})`)
            const present = rows.find(({ product }) => product === body.product)?.quantity ?? 0
            return { ...body, quantity: present + Number(body.quantity) }
          }),
      },
      'api-cart/repository': {
        addToItem: ({ addToItem, findItems, updateItem, lockCart }) =>
          function* (owner, item, limit, now) {
            const { quantity } = item
            const present = (yield* findItems(owner, now)).find(({ product }) => product === item.product)
            const cart = yield* lockCart(owner, now)
            if (quantity > limit) return undefined
            if (present === undefined || cart === undefined) return yield* addToItem(owner, item, limit, now)
            const written = yield* updateItem({ ...present, quantity }, now)
            return { ...written, cartId: cart.id, cartVersion: cart.version }
          },
      },
    },
  },
  {
    name: 'If-Match is compared before the transaction',
    seams: {
      'host/http/conditional-requests': {
        assertUnchanged: ({ assertUnchanged }) => {
          compare = assertUnchanged
          return function* (request) {
            if (!compared.has(request)) yield* assertUnchanged(request)
          }
        },
      },
      'host/requests/transaction': {
        transaction: ({ transaction }) => {
          const early: typeof transaction = async (app, options) => {
            await transaction(app, options, () => {})
            app.addHook('onRequest', async (request) => {
              const { transaction: decide } = request
              request.transaction = async (steps) => {
                if (request.headers['idempotency-key'] === undefined) {
                  await options.database.transaction(() => compare(request))
                  compared.add(request)
                }
                return decide.call(request, steps)
              }
            })
          }
          // Else it is a plugin of its own, and its hook is for its own routes.
          return Object.defineProperties(early, Object.getOwnPropertyDescriptors(transaction))
        },
      },
    },
  },
  {
    name: 'a change counts on from a version read before its transaction',
    seams: {
      'api-cart/routes': {
        cartRoutes: ({ cartRoutes }) =>
          beforeRoute(cartRoutes, 'patch', '/cart/item/:id', async ({ params, body }, database) => {
            const row = await database.maybeOne<{ version: number }>(
              sql`SELECT version FROM cart_item WHERE id = ${params.id ?? ''}`,
            )
            return { ...body, version: row?.version }
          }),
      },
      'api-cart/service': {
        changeItem: ({ changeItem, showItem }) =>
          function* (caller, id, { version, ...change }: ItemChange & { version?: number }, now) {
            const before = yield* showItem(caller, id, now)
            const changed = yield* changeItem(caller, id, change, now)
            if (version === undefined || changed.version === before.version) return changed
            yield* run(sql`UPDATE cart_item SET version = ${version + 1} WHERE id = ${id}`)
            return { ...changed, version: version + 1 }
          },
      },
    },
  },
  {
    name: 'a claim leaves the guest what it has copied',
    seams: {
      'host/callers/guests': {
        Guests: ({ Guests }) =>
          class extends Guests {
            override *retire(token: string, user: string) {
              const retired = yield* super.retire(token, user)
              yield* run(sql`UPDATE mortise_guest SET claimed_by = NULL WHERE token_hash = ${hashOf(token)}`)
              return retired && { ...retired, now: true }
            }
          },
      },
      'api-cart/service': {
        claimCart: ({ claimCart, addItem }) =>
          function* (claim, now) {
            const { guest } = claim
            const lines = yield { query: linesOf(guest), want: 'rows' }
            yield* claimCart(claim, now)
            for (const line of lines as { product: string; quantity: number }[])
              yield* addItem({ id: guest, kind: 'guest' } as Caller, line, now)
          },
      },
    },
  },
  {
    name: 'a claim loses what the guest adds meanwhile',
    seams: {
      'host/callers/guests': {
        Guests: ({ Guests }) =>
          class extends Guests {
            override *renew(guest: Parameters<InstanceType<typeof Guests>['renew']>[0]) {
              yield* super.renew(guest)
              return true
            }
          },
      },
    },
  },
  {
    name: 'a claim is done twice, for two users',
    seams: {
      'host/callers/guests': {
        Guests: ({ Guests }) =>
          class extends Guests {
            override *retire(token: string, user: string) {
              yield* run(sql`
                UPDATE mortise_guest SET claimed_by = ${user}
                WHERE token_hash = ${hashOf(token)} AND claimed_by IS NOT NULL`)
              return yield* super.retire(token, user)
            }
          },
      },
    },
  },
  {
    name: 'a claim keeps the smaller quantity',
    seams: {
      'api-cart/repository': {
        mergeCarts: ({ mergeCarts, findItems, updateItem }) =>
          function* (from, into, now, expiresAt) {
            const own = yield* findItems(into.owner, now)
            for (const item of yield* findItems(from.owner, now)) {
              const quantity = own.find(({ product }) => product === item.product)?.quantity ?? item.quantity
              if (quantity < item.quantity) yield* updateItem({ ...item, quantity }, now)
            }
            return yield* mergeCarts(from, into, now, expiresAt)
          },
      },
    },
  },
  {
    name: 'clearing leaves the line that was added last',
    seams: {
      'api-cart/repository': {
        deleteItems: ({ findItems, deleteItem }) =>
          function* (owner, now) {
            const items = yield* findItems(owner, now)
            const others = items.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, -1)
            for (const { id } of others) yield* deleteItem(owner, id, now)
            return others.length
          },
      },
    },
  },
  {
    name: 'removing does nothing and says it did',
    seams: {
      'api-cart/service': {
        removeItem: ({ showItem }) =>
          function* (caller, id, now) {
            yield* showItem(caller, id, now)
            return { id, deleted: true }
          },
      },
    },
  },
  {
    name: 'a second line of a product that is there',
    seams: {
      'api-cart/repository': {
        addToItem: ({ addToItem }) =>
          function* (owner, item, limit, now) {
            const product = `${item.product}#${newId('item')}`
            return shown(yield* addToItem(owner, { ...item, product }, limit, now))
          },
        findCart:
          ({ findCart }) =>
          async (database, owner, now) =>
            (await findCart(database, owner, now)).map(shown),
        findItem: ({ findItem }) =>
          function* (owner, id, now) {
            return shown(yield* findItem(owner, id, now))
          },
        updateItem: ({ updateItem }) =>
          function* (item, now) {
            return shown(yield* updateItem(item, now))
          },
      },
    },
  },
  {
    name: 'a cart is remembered for 20 ms',
    seams: {
      'api-cart/repository': {
        findCart: ({ findCart }) => {
          const carts = new Map<string, { rows: Awaited<ReturnType<typeof findCart>>; at: number }>()
          return async (database, owner, now) => {
            const known = carts.get(owner)
            if (known !== undefined && now - known.at < 20) return known.rows
            const rows = await findCart(database, owner, now)
            carts.set(owner, { rows, at: now })
            return rows
          }
        },
      },
    },
  },
  {
    name: 'a cart and its lines are read at two moments',
    seams: {
      'api-cart/repository': {
        findCart:
          ({ findCart }) =>
          async (database, owner, now) => {
            const [cart] = await findCart(database, owner, now)
            await pause(2)
            const rows = await findCart(database, owner, now)
            if (cart === undefined) return rows
            return rows.map((row) => ({ ...row, cartId: cart.cartId, cartVersion: cart.cartVersion }))
          },
      },
    },
  },
  {
    name: 'a repeated request with a key is done again',
    seams: {
      'host/requests/idempotency-records': {
        decideOnce: ({ decideOnce }) =>
          function* (reservation, steps) {
            const { caller, key, route } = reservation
            yield* run(sql`
              DELETE FROM mortise_idempotency
              WHERE caller = ${caller} AND idempotency_key = ${key} AND route = ${route}`)
            return yield* decideOnce(reservation, steps)
          },
      },
    },
  },
  {
    name: 'what failed in a group of transactions is not undone',
    engine: 'sqlite',
    seams: {
      'storage/sqlite/connection': {
        Connection: ({ Connection }) =>
          class extends Connection {
            override rollbackToSavepoint() {}
          },
      },
    },
  },
  {
    name: 'responses go out before the commit',
    engine: 'sqlite',
    kills: true,
    seams: {
      'storage/sqlite/connection': {
        Connection: ({ Connection }) =>
          class extends Connection {
            #timer: NodeJS.Timeout | undefined

            override begin() {
              this.#finish()
              super.begin()
            }

            override commit() {
              this.#timer = setTimeout(() => this.#finish(), 20)
              return undefined
            }

            override async sync() {}

            override close() {
              this.#finish()
              super.close()
            }

            #finish() {
              if (this.#timer === undefined) return
              clearTimeout(this.#timer)
              this.#timer = undefined
              super.commit()
            }
          },
      },
      // Readers see uncommitted data, so only a kill reveals the bug.
      'storage/sqlite/sqlite-storage': {
        SqliteStorage: ({ SqliteStorage }) =>
          class extends SqliteStorage {
            constructor(options: ConstructorParameters<typeof SqliteStorage>[0]) {
              super({ ...options, reader: options.writer })
            }
          },
      },
      'storage/sqlite/reads': {
        Reads: ({ Reads }) =>
          class extends Reads {
            readonly #connection: ConstructorParameters<typeof Reads>[0]

            constructor(...given: ConstructorParameters<typeof Reads>) {
              super(...given)
              this.#connection = given[0]
            }

            override hold() {}
            override release() {}

            override snapshot<Result>(steps: Parameters<InstanceType<typeof Reads>['snapshot']>[0]) {
              const generator = steps() as Generator<{ query: never; want: 'rows' }, Result>
              let step = generator.next()
              while (!step.done) step = generator.next(this.#connection.execute(step.value) as never)
              return step.value
            }
          },
      },
    },
  },
  {
    name: 'transactions are not serializable',
    engine: 'postgres',
    seams: {
      'storage/postgres/drive': {
        drive:
          ({ drive }) =>
          (session, mode, ...given) =>
            drive(session, mode.replace('SERIALIZABLE', 'READ COMMITTED'), ...given),
      },
    },
  },
]

/** How the host compares If-Match, and the requests for which it has done so before their transaction. */
let compare: Unchanged
const compared = new WeakSet<object>()

const hashOf = (token: string) => hash('sha256', token, 'base64url')

const linesOf = (owner: string) => sql`
  SELECT product, quantity FROM cart_item
  WHERE cart_id = (SELECT id FROM cart WHERE owner = ${owner}) ORDER BY since_version`

/** A row as callers see it: a second line of a product has a mark behind its product. */
const shown = <Shown extends { product: string | null } | undefined>(row: Shown): Shown =>
  row && { ...row, product: row.product?.replace(/#.*/, '') ?? null }

interface Request {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  body: Readonly<Record<string, unknown>>
}

/** The routes of the cart; before one of them, work outside of its transaction makes another body. */
function beforeRoute(
  cartRoutes: (app: ModuleInstance, database: Database) => void,
  method: 'post' | 'patch',
  path: string,
  bodyOf: (request: Request, database: Database) => Promise<Request['body']>,
): typeof cartRoutes {
  return (app, database) => {
    const register = app[method] as (...given: unknown[]) => unknown
    const before = (at: string, options: object, handler: (request: Request) => unknown) =>
      register.call(app, at, options, async (request: Request) => {
        if (at === path) request.body = await bodyOf(request, database)
        return handler(request)
      })
    cartRoutes(Object.create(app, { [method]: { value: before } }), database)
  }
}
