import { type Caller, currentTime, type GuestClaim, newId, timestamp } from '@mortise/module-sdk'
import { emit, problem } from './module.ts'
import * as repository from './repository.ts'
import type { MyThing } from './schemas.ts'

/** The rules: a caller has at most so many things, and reaches only their own. */

export function* addMyThing(caller: Caller, text: string, most: number, now = currentTime()) {
  const { count } = yield* repository.countMyThings(caller.id)
  if (count >= most) throw problem('my-thing-limit', `You can have ${most} things: delete one first.`)
  const row = { id: newId('my_thing'), text, createdAt: now }
  yield* repository.insertMyThing(caller.id, row)
  yield* emit('my-thing.created', { subject: row.id, owner: caller.id, data: toMyThing(row) })
  return toMyThing(row)
}

export function* showMyThing(caller: Caller, id: string) {
  const row = yield* repository.findMyThing(caller.id, id)
  if (!row) throw notFound()
  return toMyThing(row)
}

export function* removeMyThing(caller: Caller, id: string) {
  if ((yield* repository.deleteMyThing(caller.id, id)) === 0) throw notFound()
  yield* emit('my-thing.deleted', { subject: id, owner: caller.id, data: { id } })
  return { id, deleted: true as const }
}

/** A guest has signed in. */
export function* claimMyThings({ guest, user }: GuestClaim) {
  yield* repository.moveMyThings(guest, user)
}

/** The same problem for every id: unknown, deleted, or another caller's. */
const notFound = () =>
  problem('my-thing-not-found', 'You have no thing with this id: GET /my-thing lists yours.')

export function toMyThing({ createdAt, ...row }: repository.MyThingRow): MyThing {
  return { ...row, createdAt: timestamp(createdAt) }
}
