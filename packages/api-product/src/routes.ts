import {
  CursorPageOf,
  type Database,
  Deleted,
  IdParams,
  type ModuleInstance,
  respond,
} from '@mortise/module-sdk'
import { listProducts } from './list.ts'
import { problem, responses } from './module.ts'
import { NewProduct, Product, ProductChange, ProductQuery } from './schemas.ts'
import { changeProduct, createProduct, removeProduct, showProduct } from './service.ts'

/** The routes of products: everybody reads, and a scope changes. */
export function productRoutes(app: ModuleInstance, database: Database): void {
  const isPublic = { access: 'public' } as const
  const manages = { access: 'product:manage' } as const
  const changes = {
    ...manages,
    ifMatch: { resource: 'the product', find: (_caller: unknown, id: string) => showProduct(id) },
  }

  app.get(
    '/product',
    {
      config: isPublic,
      schema: {
        summary: 'List or search products',
        querystring: ProductQuery,
        response: { 200: CursorPageOf(Product), ...responses('invalid-request') },
      },
    },
    async ({ query }, reply) => reply.paged(await listProducts(database, query)),
  )

  app.post(
    '/product',
    {
      config: manages,
      schema: {
        summary: 'Create a product',
        body: NewProduct,
        response: { 201: Product, ...responses('invalid-request', 'product-exists') },
      },
    },
    (request) =>
      request.transaction(function* () {
        const product = yield* createProduct(request.body)
        return respond(201, product, { location: `/product/${encodeURIComponent(product.id)}` })
      }),
  )

  app.get(
    '/product/:id',
    {
      config: isPublic,
      schema: {
        summary: 'Get a product',
        params: IdParams,
        response: { 200: Product, ...responses('product-not-found') },
      },
    },
    ({ params }) => database.snapshot(() => showProduct(params.id)),
  )

  app.patch(
    '/product/:id',
    {
      config: changes,
      schema: {
        summary: 'Change a product; If-Match is required',
        params: IdParams,
        body: ProductChange,
        response: {
          200: Product,
          ...responses('invalid-request', 'product-not-found', 'if-match-required'),
        },
      },
    },
    (request) => {
      assertConditional(request.headers['if-match'])
      return request.transaction(() => changeProduct(request.params.id, request.body))
    },
  )

  app.delete(
    '/product/:id',
    {
      config: changes,
      schema: {
        summary: 'Delete a product',
        params: IdParams,
        response: { 200: Deleted, ...responses('product-not-found') },
      },
    },
    (request) => request.transaction(() => removeProduct(request.params.id)),
  )
}

/** @throws {Problem} `if-match-required` */
function assertConditional(ifMatch: string | undefined): void {
  if (ifMatch === undefined) throw problem('if-match-required')
}
