import { readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { run, sql } from '@mortise/module-sdk'
import type { TestCaller, TestHost } from '@mortise/module-testkit'
import t, { type Test } from 'tap'
import { takeStock } from '../src/catalog.ts'
import { runImport, startImport } from '../src/import/imports.ts'
import { MOST_PRODUCTS, readProducts } from '../src/import/read-products.ts'
import { create, euros, productHost, testOnEngines } from './product-host.ts'

type Format = 'csv' | 'jsonl'

async function shop(t: Test) {
  const host = await productHost(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  return {
    host,
    manager,
    import: (content: string | Uint8Array, format: Format, asked?: Asked) =>
      importFile(host, manager, content, format, asked),
  }
}

interface Asked {
  readonly skipInvalid?: boolean
  readonly stock?: 'set' | 'leave'
}

function start(manager: TestCaller, content: string | Uint8Array, format: Format, asked: Asked = {}) {
  const form = new FormData()
  form.set('file', new Blob([content as string]), `products.${format}`)
  form.set('format', format)
  for (const [name, value] of Object.entries(asked)) form.set(name, String(value))
  return manager.post('/product/import', form)
}

/** Imports a file, and returns the import when it has ended. */
async function importFile(
  host: TestHost,
  manager: TestCaller,
  content: string | Uint8Array,
  format: Format,
  asked?: Asked,
) {
  const started = await start(manager, content, format, asked)
  if (started.statusCode !== 202) throw new Error(started.body)
  await host.reacted()
  return (await manager.get(started.headers.location as string)).json()
}

const trusted = async () => true
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
    const type = format === 'csv' ? 'text/csv' : 'application/jsonl'
    t.equal(exported.headers['content-type'], `${type}; charset=utf-8`)
    t.equal(exported.headers['content-disposition'], `attachment; filename="products.${format}"`)
    t.equal(exported.body.startsWith('\ufeff'), format === 'csv')
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
      '{"id":"n","name":"n","price":{"amount":1.00000000000000000001,"currency":"EUR"}}\n',
      '{"id":"d","name":"d","name":"e","price":{"amount":1,"currency":"EUR"}}\n',
      `${'['.repeat(100_000)}${']'.repeat(100_000)}\n`,
      'null\n',
    ].join(''),
    [
      { line: 2, pointer: '/price' },
      { line: 3, pointer: '', detail: /JSON/ },
      { line: 4, pointer: '/id', detail: /line 1/ },
      { line: 5, pointer: '/colour' },
      { line: 5, pointer: '/stock' },
      { line: 6, pointer: '/price/currency', detail: /ISO 4217/ },
      { line: 7, pointer: '/id', detail: /surrogate/ },
      { line: 8, pointer: '/price/amount', detail: /double/ },
      { line: 9, pointer: '/name', detail: /once/ },
      { line: 10, pointer: '', detail: /deeper than 100/ },
      { line: 11, pointer: '' },
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
      { line: 6, pointer: '/price/amount', detail: /1999 stands for 19\.99 EUR/ },
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
    const skipped = await importFile(host, manager, file, format, { skipInvalid: true })
    t.match(skipped, { status: 'completed', created: 1, errorCount: errors.length, errors: refused.errors })
    t.equal(skipped.done, skipped.products)
    t.equal(skipped.skipped, skipped.products - 1)
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

const renamed = (text: string, id: string, name: string) =>
  text.replace(new RegExp(`(^${id},|"id":"${id}","name":")[^,"]*`, 'm'), `$1${name}`)

testOnEngines('an edited export undoes no sale', async (t) => {
  const { host, manager, import: imported } = await shop(t)
  await create(manager, ...['tea', 'cup', 'pot', 'gone'].map((id) => ({ id, stock: 10 })))
  for (const format of ['csv', 'jsonl'] as const) {
    await host.database.transaction(() => takeStock([{ product: 'pot', quantity: 1 }]))
    const exported = (await manager.get(`/product/export/${format}`)).body
    const edited = renamed(exported, 'tea', `Tea ${format}`)
    t.not(edited, exported)
    const old = renamed(edited, 'cup', 'Cup')
    await host.database.transaction(() => takeStock([{ product: 'cup', quantity: 1 }]))
    const before = await list(manager)

    const refused = await imported(old, format)
    const line = old.split('\n').findIndex((one) => one.includes('Cup')) + 1
    const errors = [{ line, pointer: '/version', detail: /changed since version/ }]
    t.match(refused, { status: 'refused', changed: 0, errorCount: 1, errors })
    t.strictSame(await list(manager), before, 'nothing was changed')

    const skipped = await imported(old, format, { skipInvalid: true })
    t.match(skipped, { status: 'completed', changed: 1, skipped: 1, errorCount: 1, errors })
    t.match((await manager.get('/product/tea')).json(), { name: `Tea ${format}`, stock: 10 })
    t.match((await manager.get('/product/cup')).json(), { name: 'cup' })
    t.match(await imported(edited, format), { status: 'completed', changed: 0, errorCount: 0 }, 'again')
  }
  const gone = (await manager.get('/product/export/jsonl')).body
  await manager.delete('/product/gone')
  t.match(await imported(gone, 'jsonl'), { status: 'refused', errors: [{ detail: /deleted since version/ }] })
})

testOnEngines('a file sets the stock of products that are there only when asked', async (t) => {
  const { host, manager, import: imported } = await shop(t)
  const file = line('tea', { stock: 10 })
  t.match(await imported(file, 'jsonl'), { created: 1, stock: 'leave' })
  t.match((await manager.get('/product/tea')).json(), { stock: 10 }, 'a new product gets that of the file')
  await host.database.transaction(() => takeStock([{ product: 'tea', quantity: 9 }]))
  t.match(await imported(file, 'jsonl'), { changed: 0 })
  t.match((await manager.get('/product/tea')).json(), { stock: 1 })
  t.match(await imported(file, 'jsonl', { stock: 'set' }), { changed: 1, stock: 'set' })
  t.match((await manager.get('/product/tea')).json(), { stock: 10 })
  const wrong = await start(manager, file, 'jsonl', { stock: 'maybe' as 'set' })
  t.match(wrong.json(), { status: 400, errors: [{ pointer: '/stock' }] })
})

testOnEngines('a product that is sold between the check and its line keeps the sale', async (t) => {
  const { host, manager } = await shop(t)
  const { database } = host
  await create(manager, { id: 'tea', stock: 10 })
  const bytes = Buffer.from(line('tea', { stock: 10, version: 1 }))
  const file = { name: '', mediaType: '', bytes }
  const { id } = await database.transaction(() => startImport({ file, format: 'jsonl', stock: 'set' }))
  const { signal } = new AbortController()
  const between = Object.assign(new AbortController().signal, {
    throwIfAborted() {
      this.throwIfAborted = () => {
        throw new Error('the file has been checked')
      }
    },
  })
  await t.rejects(
    runImport(database, id, () => [], between, trusted),
    /checked/,
  )
  await database.transaction(() => takeStock([{ product: 'tea', quantity: 9 }]))
  await runImport(database, id, () => [], signal, trusted)
  const ended = (await manager.get(`/product/import/${id}`)).json()
  const errors = [{ line: 1, pointer: '/version' }]
  t.match(ended, { status: 'completed', done: 1, changed: 0, skipped: 1, errorCount: 1, errors })
  t.match((await manager.get('/product/tea')).json(), { stock: 1 })
})

testOnEngines('a file that a spreadsheet has saved comes back', async (t) => {
  const { manager, import: imported } = await shop(t)
  await imported(`${JSON.stringify(tea)}\n${JSON.stringify(cup)}\n`, 'jsonl')
  const { body } = await manager.get('/product/export/csv')
  const rows = body.slice(1).trimEnd().split('\r\n').slice(0)
  t.match(rows.join('\n'), /^'=cup, Cup,900/m, 'no cell is a formula')
  const semicolons = [
    'id;name;price;currency;stock;active;group;;',
    "'=cup;Cup of Excel;900;EUR;;TRUE;;;",
    ';;;;;;;;',
    ';;;;;;;;',
    '',
  ].join('\r\n')
  const first = await imported(`\ufeff${semicolons}`, 'csv')
  t.match(first, { status: 'completed', products: 1, changed: 1, separator: 'semicolon' })
  t.match((await manager.get('/product/=cup')).json(), { name: 'Cup of Excel', active: true })

  const tabs = semicolons.replaceAll(';', '\t').replace('Excel', 'Unicode text, ±5 €')
  const unicode = await imported(Buffer.from(`\ufeff${tabs}`, 'utf16le'), 'csv')
  t.match(unicode, { status: 'completed', changed: 1, separator: 'tab' })
  t.match((await manager.get('/product/=cup')).json(), { name: 'Cup of Unicode text, ±5 €' })

  const latin = await start(manager, Buffer.from('id,name\ncafé', 'latin1'), 'csv')
  t.match(latin.json(), { status: 400, errors: [{ pointer: '/file', detail: /UTF-8/ }] })
  t.match(await imported('', 'csv'), { separator: null })
})

testOnEngines('an import whose job has failed for good says so, and can be continued', async (t) => {
  const { host, manager } = await shop(t)
  const { database } = host
  const file = { name: '', mediaType: '', bytes: Buffer.from(line('tea')) }
  const { id } = await database.transaction(() => startImport({ file, format: 'jsonl' }))
  // As a process left it that died in the last of its attempts.
  await database.transaction(() =>
    run(sql`
      INSERT INTO mortise_job (id, module, work, data, state, due_at, attempts, created_at)
      VALUES ('job_x', 'api-product', 'import', ${JSON.stringify({ id })}, 'waiting', 0, 100, 0)`),
  )
  await host.reacted()
  const get = async () => (await manager.get(`/product/import/${id}`)).json()
  t.match(await get(), { status: 'failed', done: 0, failure: /process died.*app work replay/ })
  await runImport(database, id, () => [], new AbortController().signal, trusted)
  t.match(await get(), { status: 'completed', created: 1, failure: null })
})

t.test('reading a large file leaves time for others', async (t) => {
  const size = 8 * 1024 * 1024
  const files: [text: string, format: Format][] = [
    ['\n'.repeat(size), 'csv'],
    ['\r\n'.repeat(size / 2), 'csv'],
    [`id,name,price,currency\n${',,,\n'.repeat(size / 4)}`, 'csv'],
    ['\n'.repeat(size), 'jsonl'],
  ]
  for (const [text, format] of files) {
    let [turns, isRead] = [0, false]
    const others = (async () => {
      for (; !isRead; turns += 1) await setImmediate()
    })()
    const begun = performance.now()
    for await (const entry of readProducts(text, format, () => [])) t.fail(JSON.stringify(entry))
    isRead = true
    const took = performance.now() - begun
    await others
    t.ok(turns >= 10 || took < 100, `${turns} turns in ${took} ms`)
  }
})

t.test('what one line can cost is bounded', async (t) => {
  const read = async (text: string, format: Format) => {
    const entries = []
    for await (const entry of readProducts(text, format, () => [])) entries.push(entry)
    return entries
  }
  const size = 8 * 1024 * 1024
  const detail = async (text: string, format: Format) => (await read(text, format)) as never
  t.match(await detail(','.repeat(size), 'csv'), [{ errors: [{ line: 1, detail: /100 cells/ }] }])
  t.match(await detail(`"${'""'.repeat(size / 2)}`, 'csv'), [{ errors: [{ detail: /characters/ }] }])
  t.match(await detail(`"${'a'.repeat(size)}"`, 'csv'), [{ errors: [{ detail: /characters/ }] }])
  t.match(await detail(`"${'a'.repeat(size)}"`, 'jsonl'), [{ errors: [{ detail: /characters/ }] }])
  const many = await read('{}\n'.repeat(MOST_PRODUCTS + 5).replaceAll('{}', '[]'), 'jsonl')
  t.equal(many.length, MOST_PRODUCTS + 1)
  t.match(many.at(-1), { errors: [{ line: MOST_PRODUCTS + 1, detail: /send several files/ }] })
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
  await t.rejects(runImport(database, id, check, new Interruption(2).signal, trusted), /interrupted/)
  t.match(await progress(), { status: 'running', products: 200, done: 100, created: 100 })
  const both = [0, 1].map(() => runImport(database, id, check, new AbortController().signal, trusted))
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

testOnEngines('an import ends with what verified the token that began it', async (t) => {
  const { host, manager } = await shop(t)
  const { database } = host
  const bytes = Buffer.from(Array.from({ length: 60 }, (_, index) => line(`p${index}`)).join(''))
  const file = { name: '', mediaType: '', bytes }
  const { id } = await database.transaction(() => startImport({ file, format: 'jsonl' }))
  const verdicts = [true, false]
  const { signal } = new AbortController()
  const attempt = () =>
    runImport(
      database,
      id,
      () => [],
      signal,
      async () => verdicts.shift() ?? true,
    )
  await attempt()
  const ended = (await manager.get(`/product/import/${id}`)).json()
  t.match(ended, { status: 'failed', done: 50, created: 50, failure: /does not trust the token/ })
  await attempt()
  t.same((await manager.get(`/product/import/${id}`)).json(), ended, 'and does not continue')
  t.match(await database.many(sql`SELECT bytes FROM product_import`), [{ bytes: null }])

  const [job] = await start(manager, line('tea'), 'jsonl').then(() =>
    database.many<{ data: string }>(sql`SELECT data FROM mortise_job`),
  )
  t.match(JSON.parse(job?.data ?? '{}'), { proof: /mortise-testkit/ })
})
