import { defineModule, Id, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { MyThing } from './schemas.js'

/** The subject of each event is the thing; the event's owner is its owner. */
export const { emit, plugin, problem, responses } = defineModule('my-thing', {
  settings: Strict({
    mostPerCaller: Type.Integer({ minimum: 1, default: 100, description: 'the most things of one caller' }),
  }),
  events: {
    'my-thing.created': MyThing,
    'my-thing.deleted': Type.Object({ id: Id('my_thing') }),
  },
  problems: {
    'my-thing-not-found': { status: 404, title: 'Thing not found' },
    'my-thing-limit': { status: 409, title: 'The caller has too many things' },
  },
})
