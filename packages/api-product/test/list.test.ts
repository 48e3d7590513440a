import { join, send, sql } from '@mortise/module-sdk'
import type { TestCaller } from '@mortise/module-testkit'
import { termsOf } from '../src/terms.ts'
import { create, euros, productHost, testOnEngines } from './product-host.ts'

const ids = async (caller: TestCaller, query: string) =>
  (await listed(caller, query)).data.map(({ id }: { id: string }) => id)

/** The list. A machine that is busy may not read it in its two seconds: it is asked again, as a client would. */
async function listed(caller: TestCaller, query: string) {
  for (;;) {
    const found = await caller.get(`/product?${query}`)
    if (found.statusCode === 200) return found.json()
    if (found.statusCode !== 503) throw new Error(found.body)
  }
}

const parameters = async (caller: TestCaller, query: string) => {
  const { status, errors } = (await caller.get(`/product?${query}`)).json()
  return [status, errors?.map(({ parameter }: { parameter: string }) => parameter)]
}

const shelf = [
  {
    id: 'b-1',
    name: 'Émile’s Blend',
    price: euros(300),
    group: 'blend',
    attributes: { roast: 'dark', size: '1kg' },
  },
  {
    id: 'a-2',
    name: 'café Crème',
    price: euros(100),
    group: 'blend',
    attributes: { roast: 'light', size: '1kg' },
  },
  { id: 'c-3', name: 'GROSSE TASSE', price: euros(200), otherPrices: [{ amount: 9, currency: 'USD' }] },
  { id: 'd-4', name: 'große Kanne', price: { amount: 5, currency: 'USD' } },
  { id: 'e-5', name: 'Old blend', active: false, price: euros(50) },
]

testOnEngines('each word begins a word of the name or the id, without case and accents', async (t) => {
  const host = await productHost(t)
  await create(host.user('root', 'product:manage'), ...shelf)
  const guest = host.guest()
  for (const [q, found] of [
    ['emile', ['b-1']],
    ['EMI blend', ['b-1']],
    ['CAFE', ['a-2']],
    ['créme', ['a-2']],
    ['große', ['d-4', 'c-3']],
    ['gross t', ['c-3']],
    ['C-3', ['c-3']],
    ['len', []],
    ['blend tasse', []],
    ['%', []],
    ['_', []],
    ["'", []],
  ] as const) {
    t.strictSame(await ids(guest, `q=${encodeURIComponent(q)}`), found, q)
  }
})

testOnEngines('filters select, and each order can be reversed', async (t) => {
  const host = await productHost(t)
  await create(host.user('root', 'product:manage'), ...shelf)
  const guest = host.guest()
  for (const [query, found] of [
    ['', ['d-4', 'c-3', 'a-2', 'b-1']],
    ['sort=createdAt', ['b-1', 'a-2', 'c-3', 'd-4']],
    ['sort=name', ['a-2', 'b-1', 'd-4', 'c-3']],
    ['sort=-name', ['c-3', 'd-4', 'b-1', 'a-2']],
    ['sort=price&currency=EUR', ['a-2', 'c-3', 'b-1']],
    ['sort=-price&currency=EUR', ['b-1', 'c-3', 'a-2']],
    ['sort=price&currency=USD', ['d-4', 'c-3']],
    ['sort=price&currency=EUR&minPrice=101&maxPrice=300', ['c-3', 'b-1']],
    ['sort=name&currency=EUR&minPrice=100&maxPrice=200', ['a-2', 'c-3']],
    ['currency=USD', ['d-4', 'c-3']],
    ['active=false', ['e-5']],
    ['active=false&sort=price&currency=EUR', ['e-5']],
    ['active=false&q=blend', ['e-5']],
    ['group=blend', ['a-2', 'b-1']],
    ['group=blen', []],
    ['attributes=size:1kg', ['a-2', 'b-1']],
    ['attributes=size:1kg,roast:dark', ['b-1']],
    ['attributes=size:1', []],
    ['group=blend&q=creme&attributes=roast:light&currency=EUR&maxPrice=100', ['a-2']],
  ] as const) {
    t.strictSame(await ids(guest, query), found, query)
  }
})

testOnEngines('a wrong filter says what it must be', async (t) => {
  const guest = (await productHost(t)).guest()
  const detail = async (query: string) => (await guest.get(`/product?${query}`)).json().errors[0].detail
  t.match(await detail('currency=eur'), /^must be three capital letters/)
  t.match(await detail('attributes=size'), /^must be names with their values/)
  t.match(await detail('q=%E2%80%8B'), /^must be words/)
})

testOnEngines('an attribute has any visible name and text, and is found by both', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  const named = { größe: '1,5 kg', 'name.de': 'Kaffee', 'a b': 'c:d', 'e:f': 'g', '\\': '\\,' }
  await create(manager, { id: 'tea', attributes: named }, { id: 'mug', attributes: { größe: '1' } })
  for (const pairs of ['größe:1\\,5 kg', 'name.de:Kaffee,a b:c:d', 'e\\:f:g', '\\\\:\\\\\\,', 'a b:c\\:d'])
    t.strictSame(await ids(manager, `attributes=${encodeURIComponent(pairs)}`), ['tea'], pairs)
  for (const wrong of ['größe:1,5 kg', 'größe:\\1', 'e', ':x', 'e:', 'e:f,', 'e:f\\'])
    t.equal((await parameters(manager, `attributes=${encodeURIComponent(wrong)}`))[0], 400, wrong)
  const refused = await manager.post('/product', {
    ...shelf[0],
    id: 'x',
    attributes: { 'a\tb': 'c', '': 'd' },
  })
  t.match(refused.json(), {
    status: 400,
    errors: [
      {
        pointer: '/attributes/a\tb',
        detail: /1 to 100 characters, no control characters, at least one visible/,
      },
      { pointer: '/attributes/', detail: /1 to 100 characters/ },
    ],
  })
})

testOnEngines('filters are unique and few', async (t) => {
  const guest = (await productHost(t)).guest()
  const pairs = Array.from({ length: 11 }, (_, index) => `c${index}:r`)
  for (const [wrong, detail] of [
    [`${'c:r,'.repeat(249)}c:b`, /at most 10/],
    [pairs.join(), /at most 10/],
    ['c:r,c:r', /each name once/],
    ['c:r,c:b', /each name once/],
  ] as const) {
    t.match((await guest.get(`/product?attributes=${wrong}`)).json(), {
      status: 400,
      errors: [{ parameter: 'attributes', detail }],
    })
  }
  t.strictSame(await ids(guest, `attributes=${pairs.slice(1).join()}`), [])
})

testOnEngines('amounts are compared in a currency', async (t) => {
  const guest = (await productHost(t)).guest()
  t.strictSame(await parameters(guest, 'sort=-price'), [400, ['sort']])
  t.strictSame(await parameters(guest, 'minPrice=1&maxPrice=2'), [400, ['minPrice', 'maxPrice']])
  for (const query of [
    'minPrice=01&currency=EUR',
    'sort=stock',
    'active=yes',
    'attributes=size',
    'q=%00',
    'nothing=1',
  ])
    t.equal((await parameters(guest, query))[0], 400, query)
})

testOnEngines('a change of a product changes where it is found', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, ...shelf)
  const change = {
    name: 'Blue mug',
    group: 'mugs',
    price: euros(10),
    attributes: { roast: 'none' },
    active: false,
  }
  await manager.patch('/product/b-1', change, { 'if-match': '*' })
  for (const query of ['q=emile', 'attributes=roast:dark', 'q=blue', 'sort=price&currency=EUR&maxPrice=10'])
    t.strictSame(await ids(manager, query), [], query)
  for (const query of ['q=blue', 'group=mugs', 'attributes=roast:none', 'currency=EUR&maxPrice=10'])
    t.strictSame(await ids(manager, `active=false&${query}`), ['b-1'], query)
})

testOnEngines('a walk has each product once, in pages or after a cursor', async (t) => {
  const host = await productHost(t, { rehearse: false })
  const manager = host.user('root', 'product:manage')
  const many = Array.from({ length: 23 }, (_, index) => ({
    id: `p-${index}`,
    name: `Mug ${'abc'[index % 3]}`,
    price: euros(index % 4),
  }))
  await create(manager, ...many)
  for (const query of ['sort=name', 'sort=-price&currency=EUR&q=mug', 'sort=createdAt&q=mug', '']) {
    const all = await ids(manager, `rpp=100&${query}`)
    t.equal(new Set(all).size, 23)
    for (const first of [`/product?rpp=7&${query}`, `/product?rpp=7&after=${all[0]}&${query}`]) {
      const walked: string[] = first.includes('after') ? [all[0]] : []
      for (let path: string | undefined = first; path !== undefined; ) {
        const page = await manager.get(path)
        walked.push(...page.json().data.map(({ id }: { id: string }) => id))
        path = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1]
      }
      t.strictSame(walked, all, first)
    }
    const paged = (await manager.get(`/product?rpp=7&page=2&${query}`)).json()
    t.match(paged, { page: 2, rpp: 7, total: 23, totalIsExact: true, pages: 4 })
  }
})

testOnEngines('a list continues after a deleted product', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, ...shelf)
  await manager.delete('/product/c-3')
  t.strictSame(await ids(manager, 'after=c-3'), ['a-2', 'b-1'])
  t.strictSame(await ids(manager, 'after=c-3&sort=price&currency=EUR'), ['b-1'])
  t.strictSame(await parameters(manager, 'after=nothing'), [400, ['after']])
  t.strictSame(await parameters(manager, 'after=b-1&sort=price&currency=USD'), [400, ['after']])
})

testOnEngines('pages end, and say how to read on', async (t) => {
  const guest = (await productHost(t)).guest()
  for (const [query, status] of [
    ['page=500', 200],
    ['page=501', 400],
    ['page=50&q=tea', 200],
    ['page=51&q=tea', 400],
  ] as const) {
    const found = await guest.get(`/product?${query}`)
    t.equal(found.statusCode, status, query)
    if (status === 400) t.match(found.json(), { errors: [{ parameter: 'page', detail: /after/ }] })
  }
})

testOnEngines('words are found as the readers of their script look for them', async (t) => {
  const host = await productHost(t, { rehearse: false })
  const names = {
    coffee: '地域住民のためのコーヒー豆',
    papa: 'パパのカップ',
    baba: 'ババのカップ',
    haha: 'ハハのカップ',
    thai: 'กาแฟคั่วบด',
    hindi: 'हिन्दी चाय',
    korean: '원두 커피',
    german: 'GROẞE Kanne',
    turkish: 'İstanbul Işık',
    greek: 'Καφές',
    russian: 'Чёрный чай',
    wide: 'ＡＢＣ１２３',
    mixed: 'iPhone用ケース',
    hebrew: 'שָׁלוֹם',
  }
  const products = Object.entries(names).map(([id, name]) => ({ id, name }))
  await create(host.user('root', 'product:manage'), ...products)
  const guest = host.guest()
  for (const [q, found] of [
    ['コーヒー', ['coffee']],
    ['ｺｰﾋｰ', ['coffee']],
    ['住民', ['coffee']],
    ['豆', ['coffee']],
    ['地域住民のためのコーヒー豆', ['coffee']],
    ['豆 地域', ['coffee']],
    ['ヒーコ', []],
    ['地域住民のためのコーヒー粉', []],
    ['ハハ', ['haha']],
    ['パパ', ['papa']],
    ['ﾊﾟﾊﾟ', ['papa']],
    ['ババ', ['baba']],
    ['カップ', ['haha', 'baba', 'papa']],
    ['คั่ว', ['thai']],
    ['चा', ['hindi']],
    ['हिन्दी', ['hindi']],
    ['हन', []],
    ['커피', ['korean']],
    ['피', []],
    ['grosse', ['german']],
    ['Große', ['german']],
    ['istanbul', ['turkish']],
    ['ISTANBUL isik', ['turkish']],
    ['ışık', ['turkish']],
    ['ΚΑΦΕΣ', ['greek']],
    ['черный', ['russian']],
    ['abc1', ['wide']],
    ['iphone用ケース', ['mixed']],
    ['ケース', ['mixed']],
    ['phone', []],
    ['שָׁלוֹם', ['hebrew']],
  ] as const) {
    t.strictSame(await ids(guest, `q=${encodeURIComponent(q)}`), found, q)
  }
  t.match((await guest.get('/product?q=a+b+c+d+e+f+g+h+i+j+k')).json(), {
    status: 400,
    errors: [{ parameter: 'q', detail: 'must have at most 10 words' }],
  })
})

/** So many products have each of the words and attributes, and few have all. */
const MANY = 2_200

testOnEngines('filters that few of many products pass find them all', async (t) => {
  const { database, guest } = await productHost(t, { rehearse: false })
  const words = 'aa bb cc dd ee ff gg hh ii'
  const shared = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`c${index}`, 'r']))
  const isRare = (index: number) => index % 100 === 0
  const products = Array.from({ length: MANY }, (_, index) => ({
    id: `p-${index}`,
    name: `${words} ${index % 2 === 0 ? 'zz' : 'xx'}`,
    attributes: { ...shared, d: index % 2 === 1 || isRare(index) ? 'yes' : 'no' },
    group: null,
    prices: [euros(index)],
    active: true,
    createdAt: index,
  }))
  for (let at = 0; at < MANY; at += 200) {
    const some = products.slice(at, at + 200)
    await database.transaction(function* () {
      const rows = some.map(
        ({ id, name, attributes, prices, createdAt }) => sql`
          (${id}, ${id}, ${name}, '[]', ${JSON.stringify(attributes)}, ${JSON.stringify(prices)}, 1, 1, ${createdAt}, 0)`,
      )
      yield* send(sql`
        INSERT INTO product (id, identity, name, images, attributes, prices, active, version, created_at, updated_at)
        VALUES ${join(rows)}`)
      const terms = some.flatMap((one) => termsOf(one).map((term) => sql`(${term}, ${one.id})`))
      yield* send(sql`INSERT INTO product_term (term, product) VALUES ${join(terms)}`)
    })
  }
  const all = Object.keys(shared).map((name) => `${name}:r`)
  const filters = `q=${words.replaceAll(' ', '+')}+zz&attributes=${[...all, 'd:yes'].join()}`
  const wanted = products.filter((_, index) => isRare(index)).map(({ id }) => id)
  for (const [sort, found] of [
    ['createdAt', wanted],
    ['-createdAt', wanted.toReversed()],
    ['price&currency=EUR', wanted],
    ['-price&currency=EUR', wanted.toReversed()],
    ['-price&currency=EUR&minPrice=150&maxPrice=900', wanted.slice(2, 10).toReversed()],
  ] as const) {
    const query = `${filters}&sort=${sort}`
    t.strictSame(await ids(guest(), `${query}&rpp=100`), found, sort)
    t.strictSame(await ids(guest(), `${query}&rpp=5&page=2`), found.slice(5, 10), sort)
    t.strictSame(await ids(guest(), `${query}&rpp=5&after=${found[3]}`), found.slice(4, 9), sort)
    const last = await listed(guest(), `${query}&rpp=5&page=${Math.ceil(found.length / 5)}`)
    t.match(last, { total: found.length, totalIsExact: true })
  }
  t.strictSame(await ids(guest(), `${filters.replace('zz', 'xx')}&sort=name&rpp=1`), ['p-1'])
  t.strictSame(await ids(guest(), `q=zz&attributes=d:yes`), wanted.toReversed().slice(0, 20))
})
