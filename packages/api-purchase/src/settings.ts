import { Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

/** What an operator may set; settings.schema.json of this package is made of it. */
export const Settings = Strict({
  expirePendingAfterMinutes: Type.Integer({
    minimum: 0,
    maximum: 525_600,
    default: 0,
    description: 'minutes after which a purchase that is still pending expires; 0: never',
  }),
})
export type Settings = Static<typeof Settings>
