import { type EventSchemas, newId } from '@mortise/module-sdk'
import type { TSchema } from '@sinclair/typebox'
import type { Rule } from '../world/finding.ts'
import { validValues } from '../world/generate.ts'
import type { World } from '../world/world.ts'

/** The types that the module handles and some module of this check emits. */
function handledTypes(world: World): [string, TSchema, string][] {
  const { handled } = world.module
  return world.emitters.flatMap(({ id, events }) =>
    Object.entries(events as EventSchemas)
      .filter(([type]) => handled.has(type) || handled.has('*'))
      .map(([type, schema]): [string, TSchema, string] => [type, schema, id]),
  )
}

/** Emits `count` events of each handled type, as its module would. */
export async function emitSamples(world: World, count: number): Promise<void> {
  for (const [type, schema, source] of handledTypes(world)) {
    const samples = validValues(schema, count).filter(isPlain)
    await world.storage.transaction(function* () {
      for (const data of samples) {
        const event = {
          id: newId('event'),
          type,
          source,
          subject: newId('subject'),
          owner: 'ann',
          data,
          schema,
        }
        yield { event }
      }
    })
  }
  await world.settled()
}

/** What a request could not have brought is in no event. */
const isPlain = (data: unknown) => !/\\u(0000|d[89a-f])/i.test(JSON.stringify(data))

export const eventHandlers: Rule<World> = {
  code: 'handler-fails',
  finds: 'an event handler that throws: the host retries for hours, and later events of the subject wait',
  remedy: 'Handle each event that its schema allows; leave out what does not concern you.',
  async find(world) {
    await emitSamples(world, 10)
    return world.failedEvents.map(({ type, stack }) => {
      const place = world.module.place(stack)
      const where = `event ${type}${place ? ` (${place})` : ''}`
      return { where, why: `its handler fails: ${stack.split('\n')[0]}` }
    })
  },
}

/** The types for which no module of this check is the emitter. */
export function untriedTypes(world: World): string[] {
  const known = new Set(handledTypes(world).map(([type]) => type))
  return [...world.module.handled.keys()].filter((type) => type !== '*' && !known.has(type))
}
