import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Caller, type Database, newId, run, sql } from '@mortise/module-sdk'
import type { ItemChange } from '../../../../api-cart/src/schemas.ts'
import type { CartRoutes, Seams, Unchanged } from '../../harness/seams.ts'

/** Mistakes that the author of a module, or of the host, could make. */
export const bugs: Readonly<Record<string, Seams>> = {
  'the last write wins on the quantity of a line': {
    'api-cart/routes.cartRoutes': ({ cartRoutes }) =>
      beforeRoute(cartRoutes, 'post', '/cart/item', async ({ caller, body }, database) => {
        const lines = await database.many<Line>(linesOf(caller.id))
        const present = lines.find(({ product }) => product === body.product)?.quantity ?? 0
        return { ...body, quantity: present + Number(body.quantity) }
      }),
    'api-cart/repository.addToItem': ({ addToItem, findItems, updateItem, lockCart }) =>
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

  'If-Match is compared before the transaction': {
    'host/http/conditional-requests.assertUnchanged': ({ assertUnchanged }) => {
      compare = assertUnchanged
      return function* (request) {
        if (!compared.has(request)) yield* assertUnchanged(request)
      }
    },
    'host/requests/transaction.transaction': ({ transaction }) => {
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

  'a change counts on from a version read before its transaction': {
    'api-cart/routes.cartRoutes': ({ cartRoutes }) =>
      beforeRoute(cartRoutes, 'patch', '/cart/item/:id', async ({ params, body }, database) => {
        const query = sql`SELECT version FROM cart_item WHERE id = ${params.id ?? ''}`
        return { ...body, version: (await database.maybeOne<{ version: number }>(query))?.version }
      }),
    'api-cart/service.changeItem': ({ changeItem, showItem }) =>
      function* (caller, id, { version, ...change }: ItemChange & { version?: number }, ...given) {
        const before = yield* showItem(caller, id, ...given)
        const changed = yield* changeItem(caller, id, change, ...given)
        if (version === undefined || changed.version === before.version) return changed
        yield* run(sql`UPDATE cart_item SET version = ${version + 1} WHERE id = ${id}`)
        return { ...changed, version: version + 1 }
      },
  },

  'a claim leaves the guest what it has copied': {
    'host/callers/guests.Guests': ({ Guests }) =>
      class extends Guests {
        override *retire(token: string, user: string) {
          const retired = yield* super.retire(token, user)
          yield* run(sql`UPDATE mortise_guest SET claimed_by = NULL WHERE token_hash = ${hashOf(token)}`)
          return retired && { ...retired, now: true }
        }
      },
    'api-cart/service.claimCart': ({ claimCart, addItem }) =>
      function* (claim, shop, now) {
        const guest = { id: claim.guest, kind: 'guest' } as Caller
        const lines = (yield { query: linesOf(guest.id), want: 'rows' }) as Line[]
        yield* claimCart(claim, shop, now)
        for (const line of lines) yield* addItem(guest, line, undefined, now)
      },
  },

  'a claim loses what the guest adds meanwhile': {
    'host/callers/guests.Guests': ({ Guests }) =>
      class extends Guests {
        override *renew(guest: Parameters<InstanceType<typeof Guests>['renew']>[0]) {
          yield* super.renew(guest)
          return true
        }
      },
  },

  'a claim is done twice, for two users': {
    'host/callers/guests.Guests': ({ Guests }) =>
      class extends Guests {
        override *retire(token: string, user: string) {
          yield* run(sql`
            UPDATE mortise_guest SET claimed_by = ${user}
            WHERE token_hash = ${hashOf(token)} AND claimed_by IS NOT NULL`)
          return yield* super.retire(token, user)
        }
      },
  },

  'a claim keeps the smaller quantity': {
    'api-cart/repository.mergeCarts': ({ mergeCarts, findItems, updateItem }) =>
      function* (from, into, now, expiresAt) {
        const own = yield* findItems(into.owner, now)
        for (const item of yield* findItems(from.owner, now)) {
          const quantity = own.find(({ product }) => product === item.product)?.quantity ?? item.quantity
          if (quantity < item.quantity) yield* updateItem({ ...item, quantity }, now)
        }
        return yield* mergeCarts(from, into, now, expiresAt)
      },
  },

  'clearing leaves the line that was added last': {
    'api-cart/repository.deleteItems': ({ findItems, deleteItem }) =>
      function* (owner, now) {
        const items = yield* findItems(owner, now)
        const others = items.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, -1)
        for (const { id } of others) yield* deleteItem(owner, id, now)
        return others.length
      },
  },

  'removing does nothing and says it did': {
    'api-cart/service.removeItem': ({ showItem }) =>
      function* (caller, id, shop, now) {
        yield* showItem(caller, id, shop, now)
        return { id, deleted: true }
      },
  },

  'a second line of a product that is there': {
    'api-cart/repository.addToItem': ({ addToItem }) =>
      function* (owner, item, limit, now) {
        const product = `${item.product}#${newId('item')}`
        return shown(yield* addToItem(owner, { ...item, product }, limit, now))
      },
    'api-cart/service.showCart':
      ({ showCart }) =>
      async (...given) => {
        const cart = await showCart(...given)
        return { ...cart, items: cart.items.map(shown) }
      },
    'api-cart/repository.findItem': ({ findItem }) =>
      function* (...given) {
        return shown(yield* findItem(...given))
      },
    'api-cart/repository.updateItem': ({ updateItem }) =>
      function* (...given) {
        return shown(yield* updateItem(...given))
      },
  },

  'a cart is remembered for 20 ms': {
    'api-cart/service.showCart': ({ showCart }) => {
      const carts = new Map<string, { cart: Awaited<ReturnType<typeof showCart>>; at: number }>()
      return async (database, caller, ...given) => {
        const now = Date.now()
        const known = carts.get(caller.id)
        if (known !== undefined && now - known.at < 20) return known.cart
        const cart = await showCart(database, caller, ...given)
        carts.set(caller.id, { cart, at: now })
        return cart
      }
    },
  },

  'a cart and its lines are read at two moments': {
    'api-cart/service.showCart':
      ({ showCart }) =>
      async (...given) => {
        const { id, version } = await showCart(...given)
        await pause(2)
        const cart = await showCart(...given)
        return id === null ? cart : { ...cart, id, version }
      },
  },

  'a repeated request with a key is done again': {
    'host/requests/idempotency-records.decideOnce': ({ decideOnce }) =>
      function* (reservation, steps) {
        const { caller, key, route } = reservation
        yield* run(sql`
          DELETE FROM mortise_idempotency
          WHERE caller = ${caller} AND idempotency_key = ${key} AND route = ${route}`)
        return yield* decideOnce(reservation, steps)
      },
  },

  'what failed in a group of transactions is not undone': {
    'storage/sqlite/connection.Connection': ({ Connection }) =>
      class extends Connection {
        override rollbackToSavepoint() {}
      },
  },

  'responses go out before the commit': {
    'storage/sqlite/connection.Connection': ({ Connection }) =>
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
    // Readers see uncommitted data, so only a kill reveals the bug.
    'storage/sqlite/sqlite-storage.SqliteStorage': ({ SqliteStorage }) =>
      class extends SqliteStorage {
        constructor(options: ConstructorParameters<typeof SqliteStorage>[0]) {
          super({ ...options, reader: options.writer })
        }
      },
    'storage/sqlite/reads.Reads': ({ Reads }) =>
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

  'transactions are not serializable': {
    'storage/postgres/drive.drive':
      ({ drive }) =>
      (session, mode, ...given) =>
        drive(session, mode.replace('SERIALIZABLE', 'READ COMMITTED'), ...given),
  },
}

/** The bugs of PostgreSQL alone, those that show only after a kill, and those that a slice plants. */
export const onPostgres = ['transactions are not serializable']
export const afterKills = ['responses go out before the commit']
export const inSlice = [
  'a claim loses what the guest adds meanwhile',
  'a cart is remembered for 20 ms',
  'transactions are not serializable',
]

/** How the host compares If-Match, and the requests for which it has done so before their transaction. */
let compare: Unchanged
const compared = new WeakSet<object>()

const hashOf = (token: string) => hash('sha256', token, 'base64url')

interface Line {
  readonly product: string
  readonly quantity: number
}

const linesOf = (owner: string) => sql`
  SELECT product, quantity FROM cart_item
  WHERE cart_id = (SELECT id FROM cart WHERE owner = ${owner}) ORDER BY since_version`

/** A row as callers see it: a second line of a product has a mark behind its product. */
const shown = <Shown extends { product: string } | undefined>(row: Shown): Shown =>
  row && { ...row, product: row.product.replace(/#.*/, '') }

interface Request {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  body: Readonly<Record<string, unknown>>
}

/** The routes of the cart; before one of them, work outside of its transaction makes another body. */
function beforeRoute(
  cartRoutes: CartRoutes,
  method: 'post' | 'patch',
  path: string,
  bodyOf: (request: Request, database: Database) => Promise<Request['body']>,
): CartRoutes {
  return (app, database, prices) => {
    const register = app[method] as (...given: unknown[]) => unknown
    const before = (at: string, options: object, handler: (request: Request) => unknown) =>
      register.call(app, at, options, async (request: Request) => {
        if (at === path) request.body = await bodyOf(request, database)
        return handler(request)
      })
    cartRoutes(Object.create(app, { [method]: { value: before } }), database, prices)
  }
}
