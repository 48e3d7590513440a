import { defineProblems } from '@mortise/module-sdk'

export const problems = defineProblems('api-cart', {
  'item-not-found': { status: 404, title: 'There is no such item in the cart' },
  'quantity-limit': { status: 409, title: 'A line of the cart may not hold that many' },
  'cart-full': { status: 409, title: 'The cart has no room for another line' },
})
