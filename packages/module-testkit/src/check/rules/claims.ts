import { identifier, sql } from '@mortise/module-sdk'
import type { Rule } from '../world/finding.ts'
import type { World } from '../world/world.ts'

/** Last of those that send: the guest is nobody afterwards. */
export const claims: Rule<World> = {
  code: 'claim-missing',
  finds: 'rows of a guest that stay behind when the guest signs in: nobody can reach them any more',
  remedy: `Move them in onClaim(function* ({ guest, user }) { yield* run(sql\`UPDATE … SET owner = \${user} WHERE owner = \${guest}\`) }), or refuse guests: security: [{ bearer: [] }].`,
  async find(world) {
    const { guest, carol } = world.people
    if (guest.id === undefined || world.module.claims) return []
    const response = await carol.caller.claim(guest.caller)
    if (response.statusCode >= 300) return []
    const left: string[] = []
    for (const table of await world.tables.names()) {
      const rows = await world.storage.many<Record<string, unknown>>(sql`SELECT * FROM ${identifier(table)}`)
      const column = rows.flatMap((row) => Object.keys(row).filter((name) => row[name] === guest.id))[0]
      if (column !== undefined) left.push(`${table}.${column}`)
    }
    const [first] = left
    if (first === undefined) return []
    const why = `the module has no onClaim, and a guest who has signed in is still in ${left.join(', ')}`
    return [{ where: `table ${first.split('.')[0]}`, why }]
  },
}
