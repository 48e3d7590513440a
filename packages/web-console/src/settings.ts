import { Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

export const Settings = Strict({
  changes: Type.Optional(
    Type.Boolean({
      description:
        'whether the page may run commands that change the application; without it: if the host listens on loopback or publicUrl is https',
    }),
  ),
  idleMinutes: Type.Integer({
    minimum: 1,
    maximum: 1440,
    default: 30,
    description: 'minutes without a request of the user after which a session ends',
  }),
  sessionHours: Type.Integer({
    minimum: 1,
    maximum: 168,
    default: 12,
    description: 'hours after which a session ends, however busy',
  }),
})
export type Settings = Static<typeof Settings>
