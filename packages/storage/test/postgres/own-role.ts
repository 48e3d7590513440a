import { randomBytes } from 'node:crypto'

interface Place {
  readonly url: string
  readonly schema: string
  readonly execute: (text: string) => Promise<unknown>
}

/**
 * A role of the test's own, with the password `secret`, that owns a schema and has no other right.
 * @param place of a superuser
 * @param settings its defaults
 */
export async function ownRole<Own extends Place>(
  t: { teardown(cleanUp: () => unknown): unknown },
  place: Own,
  settings: Readonly<Record<string, string>> = {},
) {
  const { url, schema, execute } = place
  const role = `role_${randomBytes(6).toString('hex')}`
  await execute(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)
  t.teardown(() => execute(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`))
  await execute(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`)
  for (const [name, value] of Object.entries(settings))
    await execute(`ALTER ROLE ${role} SET ${name} = '${value}'`)
  const own = new URL(url)
  own.username = role
  own.password = 'secret'
  return { ...place, url: own.href, role }
}
