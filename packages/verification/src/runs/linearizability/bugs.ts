import type { Edit } from './inject-bug.ts'

/** A mistake that the author of a module, or of the host, could make. */
export interface Bug {
  readonly name: string
  readonly edits: readonly Edit[]
  /** The only engine with this bug. */
  readonly engine?: 'sqlite' | 'postgres'
  /** Whether the bug shows only after a kill. */
  readonly kills?: true
}

const inRoutes = edited('api-cart', 'dist/routes.js')
const inService = edited('api-cart', 'dist/service.js')
const inRepository = edited('api-cart', 'dist/repository.js')
const inRecords = edited('host', 'dist/requests/idempotency-records.js')
const inGuests = edited('host', 'dist/callers/guests.js')
const inGroupCommit = edited('storage', 'dist/sqlite/group-commit.js')
const inReads = edited('storage', 'dist/sqlite/reads.js')

function edited(name: 'api-cart' | 'host' | 'storage', file: string) {
  return (text: string, becomes: string): Edit => ({ package: name, file, text, becomes })
}

export const bugs: readonly Bug[] = [
  {
    name: 'the last write wins on the quantity of a line',
    edits: [
      inRoutes(
        `(request) => request.transaction(function* () {
          const { item, added } = yield* addItem(request.caller, request.body, catalog);`,
        `async (request) => {
          const { product, quantity } = request.body;
          const { items } = await showCart(database, request.caller);
          const present = items.find((item) => item.product === product)?.quantity ?? 0;
          return addTo(request, { product, quantity: present + quantity });
        });
        const addTo = (request, wanted) => request.transaction(function* () {
          const { item, added } = yield* addItem(request.caller, wanted);`,
      ),
      inRoutes(
        `? respond(201, body, { ...headers, location: \`/cart/item/\${item.id}\` })
            : respond(200, body, headers);
        }));`,
        `? respond(201, body, { ...headers, location: \`/cart/item/\${item.id}\` })
            : respond(200, body, headers);
        });`,
      ),
      inService(
        'const item = yield* repository.addToItem(',
        'const item = newItem.quantity > MAX_QUANTITY ? undefined : yield* repository.addToItem(',
      ),
      inRepository('quantity = cart_item.quantity + excluded.quantity,', 'quantity = excluded.quantity,'),
      inRepository('WHERE cart_item.quantity + excluded.quantity <=', 'WHERE excluded.quantity <='),
    ],
  },
  {
    name: 'If-Match is compared before the transaction',
    edits: [
      edited('host', 'dist/requests/transaction.js')(
        'const decideNow = () =>',
        `if (!claimed) await database.transaction(() => assertUnchanged(request));
        const decideNow = () =>`,
      ),
      edited('host', 'dist/requests/transaction.js')(
        'yield* assertUnchanged(reply.request);',
        'if (reply.request[kKey]) yield* assertUnchanged(reply.request);',
      ),
    ],
  },
  {
    name: 'a change counts on from a version read before its transaction',
    edits: [
      inRoutes(
        `(request) => request.transaction(function* () {
          const item = yield* changeItem(request.caller, request.params.id, request.body, catalog);
          const { body, headers } = yield* preferred(request, item);
          return respond(200, body, headers);
        }));`,
        `async (request) => {
          const { id } = request.params;
          const { version } = await database.snapshot(() => showItem(request.caller, id));
          return request.transaction(() => changeItem(request.caller, id, { ...request.body, version }));
        });`,
      ),
      inService(
        'repository.updateItem({ ...item, quantity, note }, now)',
        'repository.updateItem({ ...item, quantity, note, version: change.version }, now)',
      ),
      inRepository('updateItem = ({ id, quantity, note }', 'updateItem = ({ id, quantity, note, version }'),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code
      inRepository('note = ${note}, version = version + 1,', 'note = ${note}, version = ${version + 1},'),
    ],
  },
  {
    name: 'a claim leaves the guest what it has copied',
    edits: [
      inGuests('if (row.claimedBy === null) {', 'if (false) {'),
      inRepository(
        `UPDATE cart_item SET cart_id = \${into.id}, since_version = since_version + \${into.version}
        WHERE cart_id = \${from.id}`,
        `INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
        SELECT 'item_' || substr(\${into.id}, 6, 16) || substr(id, 22), \${into.id}, since_version + \${into.version},
          product, quantity, version, created_at, updated_at
        FROM cart_item WHERE cart_id = \${from.id}`,
      ),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code
      inRepository('yield* run(sql `DELETE FROM cart WHERE id = ${from.id}`);', ''),
    ],
  },
  {
    name: 'a claim loses what the guest adds meanwhile',
    edits: [
      edited('host', 'dist/requests/transaction.js')(
        '!(yield* guests.renew(guest))',
        '(yield* guests.renew(guest)) === undefined',
      ),
    ],
  },
  {
    name: 'a claim is done twice, for two users',
    edits: [inGuests('(row.claimedBy !== null && row.claimedBy !== user)', 'false')],
  },
  {
    name: 'a claim keeps the smaller quantity',
    edits: [
      inRepository('WHEN other.quantity > cart_item.quantity', 'WHEN other.quantity < cart_item.quantity'),
    ],
  },
  {
    name: 'clearing leaves the line that was added last',
    edits: [
      inRepository(
        'deleteItems = (owner, now) => run(sql `DELETE FROM cart_item WHERE',
        `deleteItems = (owner, now) => run(sql \`
        DELETE FROM cart_item WHERE since_version < (SELECT version FROM cart WHERE owner = \${owner}) AND`,
      ),
    ],
  },
  {
    name: 'removing does nothing and says it did',
    edits: [
      inRoutes(
        'const removed = yield* removeItem(request.caller, request.params.id);',
        'const removed = { id: request.params.id, deleted: true };',
      ),
    ],
  },
  {
    name: 'a second line of a product that is there',
    edits: [
      inRepository(
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code
        'version, ${product}, ${quantity}, ',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code
        "version, ${product + '#' + newId('item')}, ${quantity}, ",
      ),
      inService(
        'return { id, product, quantity, note, ...priced',
        "return { id, product: product.split('#')[0], quantity, note, ...priced",
      ),
    ],
  },
  {
    name: 'a cart is remembered for 20 ms',
    edits: [
      inService(
        'return toCart(await database.many(query));',
        `{
          const carts = (globalThis.carts ??= new Map());
          if (!(now - carts.get(caller.id)?.now < 20)) {
            carts.set(caller.id, { rows: await database.many(query), now });
          }
          return toCart(carts.get(caller.id).rows);
        }`,
      ),
    ],
  },
  {
    name: 'a cart and its lines are read at two moments',
    edits: [
      inService(
        'return toCart(await database.many(query));',
        `{
          const [cart] = await database.many(query);
          await new Promise((resolve) => setTimeout(resolve, 2));
          return toCart(await database.many(query), undefined, cart);
        }`,
      ),
      inService('toCart(rows, shelf) {', 'toCart(rows, shelf, early) {'),
      inService('const [cart] = rows;', 'const cart = early ?? rows[0];'),
    ],
  },
  {
    name: 'a repeated request with a key is done again',
    edits: [
      inRecords('if (!(yield* reserveIfFree(reservation)))', 'yield* reserveIfFree(reservation); if (false)'),
      inRecords('INSERT INTO mortise_idempotency', 'INSERT OR REPLACE INTO mortise_idempotency'),
    ],
  },
  {
    name: 'what failed in a group of transactions is not undone',
    engine: 'sqlite',
    edits: [inGroupCommit("if (onSuccess === 'undo' || 'error' in outcome)", "if (onSuccess === 'undo')")],
  },
  {
    name: 'responses go out before the commit',
    engine: 'sqlite',
    kills: true,
    edits: [
      inGroupCommit('this.#reads.hold(); const failure = connection.commit();', 'const failure = undefined;'),
      inGroupCommit(
        'if (settle !== undefined) await this.#connection.sync(); this.#reads.release(); settle?.();',
        `if (settle !== undefined) {
          settle();
          await new Promise((resolve) => setTimeout(resolve, 20));
          this.#connection.commit();
        }`,
      ),
      // Readers see uncommitted data, so only a kill reveals the bug.
      edited('storage', 'dist/sqlite/sqlite-storage.js')(
        'new Reads(options.reader, options.outbox)',
        'new Reads(options.writer, options.outbox)',
      ),
      inReads('if (held === undefined) connection.begin();', ''),
      inReads('return connection.inTransaction && !isLong;', 'return !isLong;'),
      inReads('if (held === undefined && connection.inTransaction) connection.rollback();', ''),
    ],
  },
  {
    name: 'transactions are not serializable',
    engine: 'postgres',
    edits: [
      edited('storage', 'dist/postgres/postgres-storage.js')(
        'ISOLATION LEVEL SERIALIZABLE READ WRITE',
        'ISOLATION LEVEL READ COMMITTED READ WRITE',
      ),
    ],
  },
]
