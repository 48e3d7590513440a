import { Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

/** The operator's settings. */
export const Settings = Strict({
  heartbeatSeconds: Type.Integer({
    minimum: 1,
    maximum: 300,
    default: 15,
    description:
      'seconds between signs of life in a stream; the credentials of its caller are looked at then',
  }),
  streamsPerCaller: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 10,
    description: 'how many streams one caller may have open at a process of the application',
  }),
  streamsPerAddress: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 20,
    description:
      'how many streams one address (IPv6: /64) may have open at a process; those of guests take none from signed-in users',
  }),
  streams: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    default: 1500,
    description: 'how many streams may be open at a process, of guests four fifths of that; 0: none',
  }),
  webhooksPerCaller: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 10,
    description: 'how many webhooks one caller may have',
  }),
  webhookPlainHttp: Type.Boolean({
    default: false,
    description: 'whether a webhook may lead to an http: URL: for development',
  }),
  webhookNetworks: Type.Array(Type.String({ minLength: 1, examples: ['10.0.0.0/8'] }), {
    default: [],
    description: 'networks that webhooks may lead to though they are not public',
  }),
  webhookProofDays: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 30,
    description:
      "days after which a webhook of everyone's events stops, unless its owner uses or changes it with event:read",
  }),
  webhookDeliveryDays: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 7,
    description: 'days for which a delivery that has ended can be looked up and replayed',
  }),
})
export type Settings = Static<typeof Settings>
