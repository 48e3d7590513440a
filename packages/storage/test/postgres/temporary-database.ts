import { Client } from 'pg'

interface Place {
  readonly url: string
  readonly schema: string
  readonly execute: (text: string) => Promise<unknown>
}

/**
 * The same place in a database of the test's own.
 * @param place of a superuser
 * @param options of CREATE DATABASE
 */
export async function temporaryDatabase(
  t: { teardown(cleanUp: () => unknown): unknown },
  place: Place,
  options = '',
) {
  const { schema } = place
  const database = `${schema}_db`
  await place.execute(`CREATE DATABASE ${database} ${options}`)
  t.teardown(() => place.execute(`DROP DATABASE ${database} WITH (FORCE)`))
  const own = new URL(place.url)
  own.pathname = database
  const execute = async (text: string) => {
    const client = new Client({
      connectionString: own.href.split('?')[0],
      options: `-c search_path=${schema}`,
    })
    await client.connect()
    try {
      return await client.query(text)
    } finally {
      await client.end()
    }
  }
  return { url: own.href, schema, database, execute }
}
