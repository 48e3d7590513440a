import { defineModule, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type {} from './events.ts'
import { ProductChanged } from './schemas.ts'

/** The subject of each event is the product. It has no owner. */
export const { emit, plugin, problem, responses } = defineModule('api-product', {
  settings: Strict({
    currency: Type.String({
      pattern: '^([A-Z]{3})?$',
      default: '',
      description:
        'the currency of carts and purchases, as far as all their products have it; empty: the first that they have in common',
    }),
  }),
  events: { 'product.changed': ProductChanged },
  problems: {
    'product-not-found': {
      status: 404,
      title: 'Product not found',
      detail: 'There is no product with this id: GET /product lists the products.',
    },
    'import-not-found': {
      status: 404,
      title: 'Import not found',
      detail: 'There is no import with this id, or it began more than 30 days ago.',
    },
    'product-exists': {
      status: 409,
      title: 'The id belongs to another product',
      detail:
        'There is a product with this id, so nothing was created: change it with PATCH, or use another id.',
    },
    'if-match-required': {
      status: 428,
      title: 'The change needs If-Match',
      detail:
        'Send the ETag of the product as If-Match, so that your change replaces nothing that you have not seen: GET the product first.',
    },
  },
})
