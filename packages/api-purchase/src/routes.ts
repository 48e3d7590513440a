import {
  answer,
  type CartContract,
  type CursorPage,
  CursorPageOf,
  type Database,
  Deleted,
  IdParams,
  List,
  type ModuleInstance,
  type Page,
} from '@mortise/module-sdk'
import { problems } from './problems.ts'
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
  listPurchasesAfter,
  removePurchase,
  showPurchase,
} from './service.ts'

/** The routes of purchases: the caller's own, and with a scope everyone's. */
export function purchaseRoutes(
  app: ModuleInstance,
  database: Database,
  cart: CartContract | undefined,
): void {
  const config = { access: 'caller' } as const
  const changes = { ...config, ifMatch: 'the purchase' }

  app.get(
    '/purchase',
    {
      config,
      schema: {
        summary: 'A page of purchases, newest first',
        querystring: PurchaseQuery,
        response: {
          200: CursorPageOf(PurchaseSummary),
          ...problems.responses('invalid-request', 'insufficient-scope'),
        },
      },
    },
    async ({ caller, query }, reply) => {
      const { after } = query
      return reply.paged(
        await database.snapshot<Page<PurchaseSummary> | CursorPage<PurchaseSummary>>(() =>
          after === undefined ? listPurchases(caller, query) : listPurchasesAfter(caller, after, query),
        ),
      )
    },
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
          ...problems.responses('invalid-request', 'cart-changed', 'cart-unavailable'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const purchase = yield* createPurchase(request.caller, request.body, cart)
        return answer(201, purchase, { location: `/purchase/${purchase.id}` })
      }),
  )

  app.get(
    '/purchase/:id',
    {
      config,
      schema: {
        summary: 'One purchase',
        params: IdParams,
        response: { 200: Purchase, ...problems.responses('purchase-not-found') },
      },
    },
    (request) => database.snapshot(() => showPurchase(request.caller, request.params.id)),
  )

  app.patch(
    '/purchase/:id',
    {
      config: changes,
      // A body that is wrong is refused below, where there is such a purchase.
      attachValidation: true,
      schema: {
        summary: 'Give a purchase another status',
        params: IdParams,
        body: PurchaseChange,
        response: {
          200: Purchase,
          ...problems.responses('purchase-not-found', 'illegal-transition', 'insufficient-scope'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* showPurchase(request.caller, id)
        if (request.validationError) throw request.validationError
        yield* request.ifMatch(() => showPurchase(request.caller, id))
        return answer(200, yield* changeStatus(request.caller, id, request.body.status, request.audit))
      }),
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
          ...problems.responses('purchase-not-found', 'insufficient-scope', 'not-deletable'),
        },
      },
    },
    (request) =>
      request.transaction(function* () {
        const { id } = request.params
        yield* request.ifMatch(() => showPurchase(request.caller, id))
        yield* removePurchase(request.caller, id, request.audit)
        return answer(200, { id, deleted: true })
      }),
  )

  app.get(
    '/purchase/:id/item',
    {
      config,
      schema: {
        summary: 'The items of a purchase',
        params: IdParams,
        response: { 200: List(PurchaseItem), ...problems.responses('purchase-not-found') },
      },
    },
    async (request) => ({
      data: await database.snapshot(() => listItems(request.caller, request.params.id)),
    }),
  )
}
