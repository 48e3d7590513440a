import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, openPage, picture, noBrowser as skip } from './open-page.ts'
import { fillCatalogue, openShop, type Shop } from './shop.ts'

// Clicks through all of the console at random, for CONSOLE_WALK_SECONDS (30), as CONSOLE_WALK_SEED says. With
// CONSOLE_PICTURES=docs/pictures it writes the two pictures of the README there.

const seconds = Number(process.env.CONSOLE_WALK_SECONDS ?? 30)
const seed = Number(process.env.CONSOLE_WALK_SEED ?? 20_261_126)

t.test('a random walk meets no error in the page or the host', { skip }, async (t) => {
  const shop = await openShop(t, ['api-cart', 'api-product', 'api-purchase', 'api-event', 'web-console'])
  await fillCatalogue(shop)
  await fillPurchases(shop)
  const said: string[] = []
  shop.host.stdout?.on('data', (text) => said.push(String(text)))
  shop.host.stderr?.on('data', (text) => said.push(String(text)))
  const browser = await openBrowser(t)
  const { page, complaints } = await openPage(browser, shop.url)
  // What the host refuses is shown to the user: that is no error.
  complaints.expected = /^4\d\d /
  await page.goto(shop.run('console').link)
  await page.getByRole('heading', { name: 'Now' }).waitFor()

  const random = numbers(seed)
  const end = Date.now() + seconds * 1000
  const shopping = shopUntil(shop, end)
  let steps = 0
  while (Date.now() < end) {
    if (steps++ % 25 === 0) await anywhere(page, shop, random)
    await stepOf(page, random)
    if (await page.getByRole('button', { name: 'Sign in' }).isVisible()) t.fail('the walk has signed out')
  }
  await shopping
  t.comment(`seed ${seed}: ${steps} steps`)
  t.ok(steps > 5, `${steps} steps`)
  t.same(complaints.list, [], `no error in the page, seed ${seed}`)
  t.same(
    said.filter((text) => /"level":(50|60)/.test(text)),
    [],
    'no error of the host',
  )
  t.equal(shop.host.exitCode, null)
  t.equal((await fetch(`${shop.url}/health/ready`)).status, 200)

  const folder = process.env.CONSOLE_PICTURES
  if (folder === undefined) return
  await page.evaluate("localStorage.removeItem('mortise-theme')")
  await page.goto(`${shop.url}/console/purchases`)
  await page.locator('.rows a.open').nth(3).click()
  await page.locator('.pane .timeline li').first().waitFor()
  await pictureFor(page, join(folder, 'console-purchases.webp'))
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(`${shop.url}/console`)
  await page.locator('.plot canvas').last().waitFor()
  await pictureFor(page, join(folder, 'console-now.webp'))
})

const views = ['', '/modules', '/modules/-/browse', '/modules/-/generations', '/modules/-/health']
const others = [
  '/modules/api-event',
  '/purchases',
  '/carts',
  '/products',
  '/events',
  '/webhooks',
  '/jobs',
  '/audit',
]

async function anywhere(page: Page, shop: Shop, random: () => number): Promise<void> {
  const all = [...views, ...others]
  await page.goto(`${shop.url}/console${all[Math.floor(random() * all.length)]}`)
  await page.locator('h1').first().waitFor()
  await picture(page, 'walk')
}

/** Clicks, types or presses a key somewhere; never runs a command, and never signs out. */
async function stepOf(page: Page, random: () => number): Promise<void> {
  const choice = random()
  if (choice < 0.1)
    return await page.keyboard.press(['Escape', 'j', 'k', 'Enter', '/', '?'][Math.floor(random() * 6)] ?? 'j')
  if (choice < 0.13) return void (await page.goBack({ timeout: 2000 }).catch(() => null))
  const open = page.locator('dialog[open]')
  const place = (await open.count()) > 0 ? open.last() : page.locator('.shell')
  const found: Locator = place.locator(
    'a[href]:visible, button:enabled:visible, summary:visible, select:visible, input:visible, textarea:visible',
  )
  const count = await found.count()
  if (count === 0) return
  const one = found.nth(Math.floor(random() * count))
  const what = await one
    .evaluate((element) => element.tagName + (element.textContent ?? ''), { timeout: 1000 })
    .catch(() => '')
  const label = (await one.getAttribute('aria-label', { timeout: 1000 }).catch(() => '')) ?? ''
  if (/Run it|End all sessions/.test(what) || /Sign out/.test(label)) return
  const isField = /^(INPUT|TEXTAREA)/.test(what)
  await (isField && random() < 0.7
    ? one.fill(['tea', '12', '', 'purchase_x', '#3', '{"', 'alice'][Math.floor(random() * 7)] ?? '', {
        timeout: 1000,
      })
    : one.click({ timeout: 1000 })
  ).catch(() => undefined)
}

/** The same numbers for the same seed, from 0 to below 1. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

async function fillPurchases(shop: Shop): Promise<void> {
  const people = ['alice', 'bob', 'carla', 'dmitri', 'eve']
  const products = ['tea', 'cup', 'teapot', 'oolong-100g', 'sencha-100g', 'rooibos-250g', 'cup-glass']
  const known = (await shop.as('root', 'GET', '/product?rpp=100')).body.data as { id: string }[]
  const sold = products.filter((id) => known.some((product) => product.id === id))
  await shop.as('root', 'POST', '/webhook', {
    url: 'http://127.0.0.1:9/hook',
    everyone: true,
    description: 'Warehouse',
  })
  for (let made = 0; made < 40; made++) {
    const who = people[made % people.length] ?? 'alice'
    const items = Array.from({ length: 1 + (made % 3) }, (_, at) => ({
      product: sold[(made + at * 2) % sold.length],
      quantity: 1 + ((made + at) % 4),
    }))
    await shop.as(who, 'POST', '/cart/item', items[0])
    const { id } = (
      await shop.as(who, 'POST', '/purchase', {
        items,
        ...(made % 4 === 0 && { reference: `PO-${100 + made}` }),
      })
    ).body
    const next = ['confirmed', 'cancelled', undefined, undefined][made % 4]
    if (next) await shop.as('root', 'PATCH', `/purchase/${id}`, { status: next })
    if (made % 8 === 0) await shop.as('root', 'PATCH', `/purchase/${id}`, { status: 'completed' })
  }
}

/** Callers shop meanwhile: lists change, and charts have something to show. */
async function shopUntil(shop: Shop, end: number): Promise<void> {
  for (let turn = 0; Date.now() < end; turn++) {
    const body = { product: 'tea', quantity: 1 }
    await shop.as(`caller-${turn % 8}`, 'PUT', '/cart', { items: [body] })
    for (let reads = 0; reads < 3 + (turn % 5); reads++) await shop.as('alice', 'GET', '/product?rpp=20')
    const bought = ['cup', 'tea', 'cup-glass'].slice(0, 1 + ((turn / 40) % 3))
    const items = bought.map((product, at) => ({ product, quantity: 1 + ((turn / 40 + at) % 3) }))
    if (turn % 40 === 0) await shop.as('alice', 'POST', '/purchase', { items })
    await new Promise((resolve) => setTimeout(resolve, 60 + 50 * Math.sin(turn / 40)))
  }
}

/** WebP: half the bytes of a PNG. */
async function pictureFor(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, Buffer.from(data, 'base64'))
}
