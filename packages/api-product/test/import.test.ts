import { readFile } from 'node:fs/promises'
import { sql } from '@mortise/module-sdk'
import type { TestCaller, TestHost } from '@mortise/module-testkit'
import type { Test } from 'tap'
import { runImport, startImport } from '../src/import/imports.ts'
import { create, euros, productHost, testOnEngines } from './product-host.ts'

type Format = 'csv' | 'jsonl'

async function shop(t: Test) {
  const host = await productHost(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  return { host, manager, import: (text: string, format: Format) => importFile(host, manager, text, format) }
}

function start(manager: TestCaller, content: string | Uint8Array, format: Format, skipInvalid?: boolean) {
  const form = new FormData()
  form.set('file', new Blob([content as string]), `products.${format}`)
  form.set('format', format)
  if (skipInvalid !== undefined) form.set('skipInvalid', String(skipInvalid))
  return manager.post('/product/import', form)
}

/** Imports a file, and returns the import when it has ended. */
async function importFile(
  host: TestHost,
  manager: TestCaller,
  content: string,
  format: Format,
  skipInvalid?: boolean,
) {
  const started = await start(manager, content, format, skipInvalid)
  if (started.statusCode !== 202) throw new Error(started.body)
  await host.reacted()
  return (await manager.get(started.headers.location as string)).json()
}

const line = (id: string, more: object = {}) =>
  `${JSON.stringify({ id, name: id, price: euros(100), ...more })}\n`
const list = async (caller: TestCaller) => (await caller.get('/product?rpp=100')).json().data
const eventsOf = async (host: TestHost) =>
  (await host.events()).filter(({ type }) => type === 'product.changed').length

const tea = {
  id: 'tea, "loose"',
  name: 'Green tea',
  description: 'First flush.\nFrom Japan.',
  images: [{ url: 'https://images.example/tea.jpg', alt: 'A tin' }],
  attributes: { size: '100g', kind: 'green, loose' },
  group: 'tea',
  price: euros(450),
  otherPrices: [{ amount: 500, currency: 'USD' }],
  stock: 12,
  active: false,
}
const cup = { id: '=cup', name: ' Cup', price: euros(900) }

testOnEngines('a file of JSON lines is imported, and again without a change', async (t) => {
  const { host, manager, import: imported } = await shop(t)
  await create(manager, { id: 'old', name: 'Old', stock: 7, group: 'things' })
  const file = `\ufeff${JSON.stringify(tea)}\r\n\n${JSON.stringify(cup)}\n${JSON.stringify({ id: 'old', name: 'Older', price: euros(5) })}`
  const first = await imported(file, 'jsonl')
  t.match(first, {
    status: 'completed',
    products: 3,
    done: 3,
    created: 2,
    changed: 1,
    errorCount: 0,
    errors: [],
  })
  t.match((await manager.get(`/product/${encodeURIComponent(tea.id)}`)).json(), { ...tea, version: 1 })
  const old = { name: 'Older', price: euros(5), stock: 7, group: 'things', version: 2 }
  t.match((await manager.get('/product/old')).json(), old, 'what a line leaves out stays')
  t.equal(await eventsOf(host), 4)
  t.match((await manager.get('/product?q=older')).json().data, [{ id: 'old' }])
  const again = await imported(file, 'jsonl')
  t.match(again, { status: 'completed', products: 3, done: 3, created: 0, changed: 0 })
  t.equal(await eventsOf(host), 4)
})

testOnEngines('a file of CSV is imported', async (t) => {
  const { manager, import: imported } = await shop(t)
  const file = [
    'stock,id,name,price,currency,description,attributes',
    '3,tea,Green tea,450,EUR,"First ""flush"".',
    'From Japan.","{""size"":""100g""}"',
    ',cup,Cup,900,EUR,,',
    '',
  ].join('\r\n')
  t.match(await imported(file, 'csv'), { status: 'completed', created: 2 })
  t.match(await list(manager), [{ id: 'tea' }, { id: 'cup' }])
  t.match((await manager.get('/product/tea')).json(), {
    description: 'First "flush".\r\nFrom Japan.',
    stock: 3,
    attributes: { size: '100g' },
    active: true,
  })
  t.match((await manager.get('/product/cup')).json(), { description: null, stock: null, attributes: {} })
})

for (const format of ['csv', 'jsonl'] as const) {
  testOnEngines(`an export as ${format} is a file that changes nothing when it is imported`, async (t) => {
    const { host, manager, import: imported } = await shop(t)
    const many = Array.from({ length: 450 }, (_, index) => line(`p-${index}`)).join('')
    await imported(`${JSON.stringify(tea)}\n${JSON.stringify(cup)}\n${many}`, 'jsonl')
    await manager.delete('/product/p-7')
    const before = await host.database.many(sql`SELECT * FROM product ORDER BY id`)
    const exported = await manager.get(`/product/export/${format}`)
    t.equal(exported.statusCode, 200)
    t.match(exported.headers['content-type'], format === 'csv' ? 'text/csv' : 'application/jsonl')
    const ended = await imported(exported.body, format)
    t.match(ended, { status: 'completed', products: 451, done: 451, created: 0, changed: 0, errors: [] })
    t.strictSame(await host.database.many(sql`SELECT * FROM product ORDER BY id`), before)
    t.equal((await host.user('ann').get(`/product/export/${format}`)).statusCode, 403)
  })
}

const faulty: Record<Format, [file: string, errors: object[]]> = {
  jsonl: [
    [
      line('good'),
      '{"id":"none","name":"None"}\n',
      '{"id":\n',
      line('good'),
      line('odd', { stock: -1, colour: 'red' }),
      line('coin', { price: { amount: 5, currency: 'XXQ' } }),
      '{"id":"half \\ud800","name":"x","price":{"amount":1,"currency":"EUR"}}\n',
      'null\n',
    ].join(''),
    [
      { line: 2, pointer: '/price' },
      { line: 3, pointer: '', detail: /JSON/ },
      { line: 4, pointer: '/id', detail: /line 1/ },
      { line: 5, pointer: '/colour' },
      { line: 5, pointer: '/stock' },
      { line: 6, pointer: '/price/currency', detail: /ISO 4217/ },
      { line: 7, detail: /surrogate/ },
      { line: 8, pointer: '' },
    ],
  ],
  csv: [
    [
      'id,name,price,currency,active,images',
      'good,Good,100,EUR,true,"[',
      ']"',
      'few,cells,1',
      '',
      'coin,Coin,1.50,EUR,true,',
      'flag,Flag,1,EUR,yes,[',
      'bad,"Bad"x,1,EUR,true,',
      'lost,Lost,1,EUR,true,',
    ].join('\n'),
    [
      { line: 4, pointer: '', detail: /6 cells.* 3/ },
      { line: 6, pointer: '/price/amount', detail: /integer/ },
      { line: 7, pointer: '/active' },
      { line: 7, pointer: '/images' },
      { line: 8, pointer: '', detail: /CSV/ },
    ],
  ],
}

for (const format of ['csv', 'jsonl'] as const) {
  const [file, errors] = faulty[format]
  testOnEngines(`a file of ${format} with errors names each, and changes nothing unless asked`, async (t) => {
    const { host, manager, import: imported } = await shop(t)
    const refused = await imported(file, format)
    t.match(refused, { status: 'refused', done: 0, created: 0, changed: 0, errorCount: errors.length })
    const byPlace = (one: { line: number; pointer: string }, other: { line: number; pointer: string }) =>
      one.line - other.line || (one.pointer < other.pointer ? -1 : 1)
    t.match(refused.errors.toSorted(byPlace), errors)
    t.strictSame(await list(manager), [])
    const skipped = await importFile(host, manager, file, format, true)
    t.match(skipped, { status: 'completed', created: 1, errorCount: errors.length, errors: refused.errors })
    t.equal(skipped.done, skipped.products)
    t.match(await list(manager), [{ id: 'good' }])
  })
}

testOnEngines('the first line of CSV names the columns', async (t) => {
  const { import: imported } = await shop(t)
  for (const header of [
    'id,name,price',
    'id,name,price,currency,colour',
    'id,id,name,price,currency',
    'x;y',
  ]) {
    t.match(await imported(`${header}\na,b,1,EUR\n`, 'csv'), {
      status: 'refused',
      errors: [{ line: 1, detail: /columns, each once: id, name, price, currency/ }],
    })
  }
  t.match(await imported('', 'csv'), { status: 'completed', products: 0 })
  t.match(await imported('', 'jsonl'), { status: 'completed', products: 0 })
})

testOnEngines('an import shows the first 100 errors and counts all', async (t) => {
  const { import: imported } = await shop(t)
  const refused = await imported('{}\n'.repeat(90) + '[]\n'.repeat(90), 'jsonl')
  t.match(refused, { products: 180, errorCount: 360 })
  t.equal(refused.errors.length, 100)
})

testOnEngines('only managers import, text in UTF-8 of a bounded size', async (t) => {
  const { host, manager } = await shop(t)
  t.equal((await start(host.user('ann'), line('tea'), 'jsonl')).statusCode, 403)
  t.equal((await start(host.guest(), line('tea'), 'jsonl')).statusCode, 401)
  const refused = await start(manager, Uint8Array.of(0xff), 'csv')
  t.match(refused.json(), { status: 400, errors: [{ pointer: '/file' }] })
  t.equal((await start(manager, line('tea'), 'xml' as Format)).statusCode, 400)
  t.match((await manager.get('/product/import/import_x')).json(), { status: 404, code: 'import-not-found' })
  const started = await start(manager, line('tea'), 'jsonl')
  t.equal((await host.user('ann').get(started.headers.location as string)).statusCode, 403)
  await host.reacted()
})

/** Ends an attempt after some batches. */
class Interruption {
  readonly signal = new AbortController().signal
  readonly #batches: number
  #asked = 0

  constructor(batches: number) {
    this.#batches = batches
    this.signal.throwIfAborted = () => {
      // Once for each product in the check, and once when it is stored.
      this.#asked += 1
      if (this.#asked > 200 + this.#batches * 50) throw new Error('interrupted')
    }
  }
}

testOnEngines('an import that was interrupted continues where it was', async (t) => {
  const { host, manager } = await shop(t)
  const { database } = host
  const check = () => []
  const bytes = Buffer.from(Array.from({ length: 200 }, (_, index) => line(`p-${index}`)).join(''))
  const file = { name: '', mediaType: '', bytes }
  // Without a job, which the host would begin.
  const { id } = await database.transaction(() => startImport({ file, format: 'jsonl' }))
  const progress = async () => (await manager.get(`/product/import/${id}`)).json()
  await t.rejects(runImport(database, id, check, new Interruption(2).signal), /interrupted/)
  t.match(await progress(), { status: 'running', products: 200, done: 100, created: 100 })
  const both = [0, 1].map(() => runImport(database, id, check, new AbortController().signal))
  const outcomes = await Promise.allSettled(both)
  t.ok(outcomes.some(({ status }) => status === 'fulfilled'))
  t.match(await progress(), { status: 'completed', done: 200, created: 200, changed: 0 })
  t.equal(await eventsOf(host), 200)
  t.strictSame(await database.many(sql`SELECT id FROM product_import WHERE bytes IS NOT NULL`), [])
})

testOnEngines('the sample catalogue can be imported', async (t) => {
  const { import: imported } = await shop(t)
  const sample = new URL('../sample.jsonl', import.meta.url)
  t.match(await imported(await readFile(sample, 'utf8'), 'jsonl'), { status: 'completed', created: 50 })
})
