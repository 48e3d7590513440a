import type {} from '@mortise/api-purchase/events'
import type { EventData } from '@mortise/module-sdk'

/** A module that handles `purchase.created` knows its data. */
export const firstQuantity = (data: EventData<'purchase.created'>): number | undefined =>
  data.items[0]?.quantity

// @ts-expect-error a quantity is a number
export const asText = (data: EventData<'purchase.created'>): string | undefined => data.items[0]?.quantity
