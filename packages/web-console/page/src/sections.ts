import { has } from './api.ts'
import type { texts } from './texts.ts'

export type ViewName = keyof typeof texts.views

export const sections: readonly (readonly [keyof typeof texts.sections, readonly ViewName[]])[] = [
  ['host', ['now', 'modules', 'jobs', 'audit']],
  ['shop', ['purchases', 'carts', 'products']],
  ['flow', ['events', 'webhooks']],
]

const needs: Partial<Record<ViewName, string>> = {
  purchases: 'api-purchase',
  carts: 'api-cart',
  products: 'api-product',
  events: 'api-event',
  webhooks: 'api-event',
}

/** A view of a module appears while the module serves. */
export const isThere = (name: ViewName): boolean => needs[name] === undefined || has(needs[name])
