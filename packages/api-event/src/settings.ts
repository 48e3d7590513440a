import { Strict } from '@mortise/module-sdk'
import { type Static, Type } from '@sinclair/typebox'

export const Settings = Strict({
  heartbeatSeconds: Type.Integer({
    minimum: 1,
    maximum: 300,
    default: 15,
    description: 'seconds between heartbeats in a stream; each one checks the credentials of the caller',
  }),
  streamsPerCaller: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 10,
    description: 'open streams of one caller per process of the application',
  }),
  streamsPerAddress: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 20,
    description:
      'open streams of one address (IPv6: /64) per process; streams of guests do not count against signed-in users',
  }),
  streams: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    default: 1500,
    description: 'open streams per process; guests may have four fifths of them; 0: none',
  }),
  webhooksPerCaller: Type.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 10,
    description: 'webhooks of one caller',
  }),
  webhookPlainHttp: Type.Boolean({
    default: false,
    description: 'whether a webhook may have an http: URL: for development',
  }),
  webhookNetworks: Type.Array(Type.String({ minLength: 1, examples: ['10.0.0.0/8'] }), {
    default: [],
    description: 'private networks that webhooks may call',
  }),
  webhookProofDays: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 30,
    description:
      'days until a webhook for the events of all callers stops, unless its owner uses or changes it with event:read',
  }),
  webhookDeliveryDays: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 7,
    description: 'days for which an ended delivery can be read and replayed',
  }),
})
export type Settings = Static<typeof Settings>
