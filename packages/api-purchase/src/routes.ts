import {
  CursorPageOf,
  type Database,
  Deleted,
  IdParams,
  List,
  type ModuleInstance,
  respond,
} from '@mortise/module-sdk'
import { responses } from './module.ts'
import {
  NewPurchase,
  Purchase,
  PurchaseChange,
  PurchaseItem,
  PurchaseQuery,
  PurchaseSummary,
} from './schemas.ts'
import {
  changeStatus,
  createPurchase,
  listItems,
  listPurchases,
  type Others,
  removePurchase,
  showPurchase,
} from './service.ts'
import { callersTransitions } from './status.ts'

/** The routes of purchases: the caller's own, and everyone's with a scope. */
export function purchaseRoutes(app: ModuleInstance, database: Database, others: Others): void {
  const { catalog } = others
  const config = { access: 'caller' } as const
  const changes = { ...config, ifMatch: { resource: 'the purchase', find: showPurchase } }

  app.get(
    '/purchase',
    {
      config,
      schema: {
        summary: 'List purchases, newest first',
        querystring: PurchaseQuery,
        response: {
          200: CursorPageOf(PurchaseSummary),
          ...responses('invalid-request', 'insufficient-scope'),
        },
      },
    },
    async ({ caller, query }, reply) =>
      reply.paged(await database.snapshot(() => listPurchases(caller, query), readingOf(query))),
  )

  app.post(
    '/purchase',
    {
      config,
      schema: {
        summary: 'Purchase items',
        body: NewPurchase,
        response: {
          201: Purchase,
          ...responses(
            'invalid-request',
            'cart-changed',
            'cart-unavailable',
            'unknown-product',
            'mixed-currency',
            'out-of-stock',
            'total-changed',
            'total-too-large',
          ),
        },
      },
    },
    (request) => {
      const { caller, body } = request
      const { dryRun } = body
      return request.transaction(
        function* () {
          const purchase = yield* createPurchase(caller, body, others)
          return respond(201, purchase, dryRun ? {} : { location: `/purchase/${purchase.id}` })
        },
        { dryRun },
      )
    },
  )

  app.get(
    '/purchase/:id',
    {
      config,
      schema: {
        summary: 'Get a purchase',
        params: IdParams,
        response: { 200: Purchase, ...responses('purchase-not-found') },
      },
    },
    (request) => database.snapshot(() => showPurchase(request.caller, request.params.id)),
  )

  app.patch(
    '/purchase/:id',
    {
      config: changes,
      // The handler rejects an invalid body only after it found the purchase: 404 comes first.
      attachValidation: true,
      schema: {
        summary: 'Change the status of a purchase',
        ...({ 'x-transitions': callersTransitions } as object),
        params: IdParams,
        body: PurchaseChange,
        response: {
          200: Purchase,
          ...responses('purchase-not-found', 'illegal-transition', 'insufficient-scope'),
        },
      },
    },
    (request) => {
      const { caller, params, body, audit } = request
      return request.transaction(() => changeStatus(caller, params.id, body.status, audit, catalog))
    },
  )

  app.delete(
    '/purchase/:id',
    {
      config: changes,
      schema: {
        summary: 'Delete a purchase',
        params: IdParams,
        response: {
          200: Deleted,
          ...responses('purchase-not-found', 'insufficient-scope', 'not-deletable'),
        },
      },
    },
    (request) =>
      request.transaction(() => removePurchase(request.caller, request.params.id, request.audit, catalog)),
  )

  app.get(
    '/purchase/:id/item',
    {
      config,
      schema: {
        summary: 'List the items of a purchase',
        params: IdParams,
        response: { 200: List(PurchaseItem), ...responses('purchase-not-found') },
      },
    },
    async (request) => ({
      data: await database.snapshot(() => listItems(request.caller, request.params.id)),
    }),
  )
}

/** What no index has the order of is tried on one purchase after the other. */
const readingOf = ({ product, createdAfter, createdBefore }: PurchaseQuery) =>
  product === undefined && createdAfter === undefined && createdBefore === undefined
    ? {}
    : { long: true, within: 2_000 }
