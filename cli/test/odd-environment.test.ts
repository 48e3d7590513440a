import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ownRole } from '../../packages/storage/test/postgres/own-role.ts'
import { temporaryDatabase } from '../../packages/storage/test/postgres/temporary-database.ts'
import { temporarySchema, useDatabase } from './postgres-schema.ts'
import { testApplication } from './run-app.ts'
import { startApp } from './run-process.ts'
import { skipPostgres } from './test-on-engines.ts'

// A shop on a machine with an odd time zone, language and collation gives what it gives on a plain
// one. Host and commands are processes of their own: Node reads the language when it starts.

type Environment = Readonly<Record<string, string>>

const PLAIN: Environment = { TZ: 'UTC', LANG: 'C', LC_ALL: 'C' }
const ODD: readonly Environment[] = [
  { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
  { TZ: 'America/St_Johns', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' },
]

/** What a role may have as defaults. Those of `lc_…` need locales that the server may not have. */
const ODD_ROLE = {
  timezone: 'America/St_Johns',
  datestyle: 'SQL, DMY',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-3',
  default_transaction_isolation: 'serializable',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
}

const NAMES = ['Zebra', 'äpfel', 'Äther', 'ılık', 'I-beam', 'İzmir', 'i-pod', 'Öl', 'ch', 'cz', 'ß', '1,5 kg']
const CURRENCIES = ['EUR', 'HUF', 'JPY', 'KWD']

const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
const ids = /\b(purchase|cart|item|event|webhook|import)_[\w-]{8,}/g

const HOUR = 3_600_000
/** But for less than an hour: a time in another zone is off by more. */
const isWholeDays = (duration: number) => (duration + HOUR) % (24 * HOUR) < 2 * HOUR

/** What the shop gives, without what differs each time. */
async function walk(t: Test, environment: Environment, place?: Awaited<ReturnType<typeof oddPlace>>) {
  const { directory, root } = await testApplication(t)
  if (place) await useDatabase(directory, place.url)
  const start = (...argv: string[]) =>
    startApp(t, [...argv, '--dir', directory, '--json'], [], undefined, { environment })
  const app = async (...argv: string[]) => {
    const child = start(...argv)
    t.equal(await child.ended, 0, `${argv.join(' ')}: ${child.stdout}${child.stderr}`)
    return JSON.parse(child.stdout)
  }
  const host = start('start', '--port', '0')
  await host.says(/^}/m)
  const { url } = JSON.parse(host.stdout)
  await app('module-install', 'api-product', 'api-cart', 'api-purchase', 'api-event')
  const { token } = await app('token', 'ann', '--scope', 'product:manage')
  const authorization = `Bearer ${token}`
  const begun = Date.now()
  const found: Record<string, unknown> = {}
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { authorization, ...init.headers },
    })
    const text = await response.text()
    for (const [time] of text.matchAll(times))
      t.ok(isWholeDays(Date.parse(time) - begun), `${path}: ${time} is now, or some days from now`)
    found[`${init.method ?? 'GET'} ${path}`] ??= `${response.status} ${text}`
      .replace(times, 'TIME')
      .replace(ids, '$1_ID')
      .replace(/"identity":"[^"]+"/g, '')
    return text
  }
  const post = (path: string, body: object) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  for (const [at, name] of NAMES.entries()) {
    const price = { amount: 150_000 + at, currency: CURRENCIES[at % CURRENCIES.length] }
    await post('/product', { id: `${name} ${at}`, name, price, stock: 9, attributes: { größe: '1,5' } })
  }
  const items = [{ product: 'İzmir 5', quantity: 2 }]
  await post('/cart/item', items[0] as object)
  await send('/cart')
  const { id } = JSON.parse(await post('/purchase', { items }))
  t.match(JSON.parse(await send(`/purchase/${id}`)), { id })
  delete found[`GET /purchase/${id}`]
  await send('/purchase')
  for (const query of [
    'sort=name',
    'sort=-name',
    'sort=price&currency=HUF',
    'q=IZMIR',
    'q=%C4%B1LIK',
    'q=apfel',
  ])
    await send(`/product?${query}`)
  const csv = await send('/product/export/csv')
  for (const format of ['csv', 'jsonl']) {
    const file = format === 'csv' ? csv : await send('/product/export/jsonl')
    const body = new FormData()
    body.set('format', format)
    body.set('file', new Blob([file]))
    const made = JSON.parse(await send('/product/import', { method: 'POST', body }))
    let state = made
    while (['waiting', 'running'].includes(state.status)) {
      await pause(20)
      const response = await fetch(`${url}/product/import/${made.id}`, { headers: { authorization } })
      state = await response.json()
    }
    found[`import ${format}`] = { status: state.status, errors: state.errors }
  }
  if (place) await deliveriesInOrder(t, send, post, place)
  const file = join(root, 'shop.tgz')
  await app('backup', file)
  found.verified = (await app('backup', 'verify', file)).rows.product
  found.doctor = (await app('doctor')).findings
  t.match(await app('audit'), { records: Array })
  // It makes a second schema.
  await place?.execute(`GRANT CREATE ON DATABASE ${place.database} TO ${place.role}`)
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  await app('restore', file, '--yes')
  const again = start('start', '--port', '0')
  await again.says(/^}/m)
  const response = await fetch(`${JSON.parse(again.stdout).url}/product/export/csv`, {
    headers: { authorization },
  })
  t.equal(await response.text(), csv, 'restored')
  return found
}

/** The order is that of bytes, and so is each cursor's. */
async function deliveriesInOrder(
  t: Test,
  send: (path: string) => Promise<string>,
  post: (path: string, body: object) => Promise<string>,
  { execute }: Awaited<ReturnType<typeof oddPlace>>,
) {
  const { id } = JSON.parse(await post('/webhook', { url: 'https://example.com/hook' }))
  const all = ['event_ch', 'event_Cz', 'event_a', 'event_B', 'event_I', 'event_i', 'event_-']
  for (const [at, event] of all.entries())
    await execute(
      `INSERT INTO webhook_delivery (webhook, id, type, subject, position, body, of_others, state, attempts, created_at, ended_at)
       VALUES ('${id}', '${event}', 'cart.emptied', 'a', ${at}, '{}', 0, 'delivered', 1, ${Date.now()}, ${Date.now()})`,
    )
  const { data } = JSON.parse(await send(`/webhook/${id}/delivery?limit=100`))
  const listed = data.map((one: { id: string }) => one.id).filter((one: string) => all.includes(one))
  t.same(listed, all.toSorted().reverse())
}

async function oddPlace(t: Test) {
  const options = `TEMPLATE template0 ENCODING UTF8 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'`
  return await ownRole(t, await temporaryDatabase(t, await temporarySchema(t), options), ODD_ROLE)
}

t.test('a shop is the same in any environment', async (t) => {
  let plain: Awaited<ReturnType<typeof walk>> = {}
  await t.test('a plain one', async (t) => {
    plain = await walk(t, PLAIN)
    t.match(plain, { 'import csv': { status: 'completed' }, doctor: [], verified: NAMES.length })
  })
  const [turkish, german] = ODD as [Environment, Environment]
  await t.test('Turkish, on an island', async (t) => t.strictSame(await walk(t, turkish), plain))
  await t.test('German, on an odd PostgreSQL', { skip: skipPostgres }, async (t) => {
    const found = await walk(t, german, await oddPlace(t))
    for (const [name, value] of Object.entries(plain)) t.strictSame(found[name], value, name)
  })
})
