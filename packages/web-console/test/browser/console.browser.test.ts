import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { localIssuer } from '../local-issuer.ts'
import { barriers, openBrowser, openPage, overflow, picture, noBrowser as skip } from './open-page.ts'
import { fillCatalogue, openShop, receiver, type Shop } from './shop.ts'

/** Bytes of the first view, compressed. */
const FIRST_VIEW = 60_000

const WIDE = { width: 1280, height: 800 }
const SMALL = { width: 375, height: 740 }
const sizes = [
  [WIDE, 'light', false],
  [SMALL, 'dark', true],
] as const

/** The views that show the same before and after there are purchases. */
const hostViews = [
  ...[
    '',
    '/modules',
    '/modules/-/browse',
    '/modules/-/generations',
    '/modules/-/health',
    '/modules/api-event',
  ],
  ...['/products', '/products/tea', '/jobs', '/audit', '/nowhere'],
]

t.test('an operator works with the console', { skip }, async (t) => {
  // For the browser it is another site than the host.
  const issuer = await localIssuer(t, 'localhost')
  const modules = ['api-cart', 'api-product', 'api-event', 'web-console']
  const shop = await openShop(t, modules, { auth: { issuers: [issuer.trusted] } })
  await fillCatalogue(shop)
  const browser = await openBrowser(t)
  const { page, complaints } = await openPage(browser, shop.url)
  const open = (path: string) => page.goto(`${shop.url}/console${path}`)
  // Each step begins where the one before it ended.
  const step = (name: string, run: (t: Test) => Promise<void>) =>
    t.test(name, { skip: !t.passing() && 'an earlier step has failed' }, run)
  const nav = (name: string) => page.locator('.nav').getByRole('link', { name, exact: true })

  await step('signs in by the one-time link, which works once; the first view is small', async (t) => {
    complaints.expected = /^401 (GET|POST) \/console\/session$/
    const { link } = shop.run('console')
    const sizes: Promise<number>[] = []
    page.on('requestfinished', (request) =>
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
    )
    await page.goto(link)
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    const size = (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0)
    t.ok(size < FIRST_VIEW, `${size} bytes`)
    t.ok(size > 20_000, 'all of it was counted')
    t.notMatch(page.url(), /link/, 'the link is not in the history')
    t.equal(await page.title(), 'Now · Corner shop')

    const other = await openPage(browser, shop.url)
    await other.page.goto(link)
    await other.page.getByRole('alert').waitFor()
    t.equal(await other.page.getByRole('button', { name: 'Sign in' }).count(), 1)
    await picture(other.page, 'sign-in')
    t.same(await barriers(other.page), [])
    await other.page.close()
    complaints.expected = /^$/
  })

  await step('installs api-purchase: plan, consent, progress, result, and it is live', async (t) => {
    t.equal(await nav('Purchases').count(), 0)
    await open('/modules/-/browse')
    const card = page.getByRole('article', { name: 'api-purchase' })
    await card.getByText('fits this host').waitFor()
    await card.getByRole('button').click()
    const window = page.getByRole('dialog', { name: 'Install: api-purchase' })
    await window.getByText('/purchase/:id/item', { exact: true }).waitFor()
    const go = window.getByRole('button', { name: 'Run it' })
    t.ok(await go.isDisabled(), 'nothing runs without consent')
    t.equal((await fetch(`${shop.url}/purchase`)).status, 404)
    await picture(page, 'plan')
    t.same(await barriers(page), [])
    await window.getByLabel(/^I have read/).check()
    await go.click()
    await window.getByText('watches it for 10 seconds').waitFor()
    // Ten seconds: meanwhile another page of the same session is looked at.
    const beside = await page.context().newPage()
    await beside.goto(`${shop.url}/console`)
    await lookAt(t, beside, shop.url, hostViews)
    await beside.close()
    await window.getByText('The change has settled.').waitFor()
    await window.getByRole('button', { name: 'Close' }).last().click()
    await nav('Purchases').waitFor()
    t.match((await shop.as('root', 'GET', '/purchase')).body, { data: [] })
  })

  await step('changes a setting in a form of its schema', async (t) => {
    await open('/modules/api-purchase')
    const setting = page.getByLabel('expirePendingAfterMinutes')
    await setting.fill('many')
    await page.getByText('This is no value of the type.').waitFor()
    await setting.fill('45')
    await page.getByRole('button', { name: 'Save' }).click()
    const window = page.getByRole('dialog')
    await window.getByText('Afterwards').waitFor()
    await window.getByLabel(/^I have read/).check()
    await window.getByRole('button', { name: 'Run it' }).click()
    await window.getByText('Done: the host serves it.').waitFor()
    await window.getByRole('button', { name: 'Close' }).last().click()
    await until(async () => (await setting.inputValue()) === '45')
    t.match(shop.run('config', 'get', 'api-purchase.expirePendingAfterMinutes'), { value: 45 })
  })

  await step('sees an event arrive, and moves the purchase through its states', async (t) => {
    await open('/events')
    await page.getByText('Newest first').waitFor()
    const { body: purchase } = await shop.as('alice', 'POST', '/purchase', {
      items: [{ product: 'tea', quantity: 2 }],
      reference: 'PO-7',
    })
    const row = page.getByRole('row', { name: /purchase\.created/ })
    await row.waitFor()
    await row.getByRole('link').click()
    await page.locator('.pane').getByText(purchase.id).first().waitFor()

    await open('/purchases')
    await page.getByRole('searchbox').fill(String(purchase.number))
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: String(purchase.number), exact: true }).click()
    t.equal(
      await page.getByRole('button', { name: 'Complete', exact: true }).count(),
      0,
      'only what is allowed',
    )
    await page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await page.getByRole('button', { name: 'Complete', exact: true }).click()
    await page.getByText('This status is final.').waitFor()
    t.match((await shop.as('alice', 'GET', `/purchase/${purchase.id}`)).body, { status: 'completed' })
    t.match(await page.locator('.pane').textContent(), /€7\.80/)
    await page.locator('.timeline').getByText('purchase.completed').waitFor()
    await picture(page, 'purchase')
  })

  await step('replays one delivery, and all that match: the number is shown before', async (t) => {
    const hook = await receiver(t)
    const { body: webhook } = await shop.as('root', 'POST', '/webhook', {
      url: hook.url,
      types: ['purchase.created'],
      everyone: true,
    })
    const items = [{ product: 'cup', quantity: 1 }]
    for (let made = 0; made < 3; made++) await shop.as('bob', 'POST', '/purchase', { items })
    await until(() => hook.ids.length === 3)
    await open(`/webhooks/${webhook.id}`)
    await page.getByRole('button', { name: 'Delivered', exact: true }).click()
    const rows = page.locator('.delivery')
    await rows.nth(2).waitFor()
    await rows
      .first()
      .getByRole('button', { name: /^Replay/ })
      .click()
    await page.getByText('The delivery is pending again.').waitFor()
    await until(() => hook.ids.length === 4)
    t.equal(new Set(hook.ids).size, 3)
    await rows.nth(2).waitFor()

    await page.getByRole('button', { name: 'Replay all that match' }).click()
    await page.getByText('3 delivered deliveries match. Replay exactly these?').waitFor()
    t.equal(hook.ids.length, 4, 'nothing is sent before the consent')
    await page.getByRole('button', { name: 'Replay 3' }).click()
    await page.getByText('3 of 3 replayed').waitFor()
    await until(() => hook.ids.length === 7)
    t.same([...new Set(hook.ids.slice(4))].sort(), [...new Set(hook.ids.slice(0, 3))].sort())

    await page.getByRole('button', { name: 'Rotate the secret' }).first().click()
    await page.getByRole('button', { name: 'Rotate the secret' }).last().click()
    await page.getByText(/whsec_/).waitFor()
  })

  await step('a conflict in a product is shown, and what was typed is not lost', async (t) => {
    await open('/products/tea')
    await page.getByLabel('Name').fill('Tea of the house')
    const { etag } = await shop.as('root', 'GET', '/product/tea')
    await shop.as('root', 'PATCH', '/product/tea', { stock: 77 }, { 'if-match': etag })
    complaints.expected = /^412 PATCH/
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone else has changed this product').waitFor()
    t.equal(await page.getByLabel('Name').inputValue(), 'Tea of the house')
    await page.getByRole('button', { name: 'Save mine anyway' }).click()
    await page.getByText('Saved').waitFor()
    complaints.expected = /^$/
    t.match((await shop.as('root', 'GET', '/product/tea')).body, { name: 'Tea of the house', stock: 77 })

    await page.getByLabel('Price (EUR)').fill('4.5')
    await page.getByRole('button', { name: 'Save' }).click()
    await until(async () => (await shop.as('root', 'GET', '/product/tea')).body.price.amount === 450)

    // The browser's locale data give the forint no decimals.
    const gulyas = { id: 'gulyas', name: 'Gulyás', price: { amount: 100_000, currency: 'HUF' } }
    await shop.as('root', 'POST', '/product', gulyas)
    await open('/products/gulyas')
    t.equal(await page.getByLabel('Price (HUF)').inputValue(), '1000.00')
    await page.getByLabel('Price (HUF)').fill('1500')
    await page.getByRole('button', { name: 'Save' }).click()
    await until(async () => (await shop.as('root', 'GET', '/product/gulyas')).body.price.amount === 150_000)
  })

  await step('every view has no barrier, at 1280 and at 375 pixels, light and dark', async (t) => {
    const { body: purchases } = await shop.as('root', 'GET', '/purchase?owner=*&rpp=1')
    const { body: webhooks } = await shop.as('root', 'GET', '/webhook?owner=*&rpp=1')
    await open('')
    await lookAt(t, page, shop.url, [
      ...['/purchases', `/purchases/${purchases.data[0].id}`, '/carts', '/events'],
      ...['/webhooks', `/webhooks/${webhooks.data[0].id}`],
    ])
    await page.setViewportSize(WIDE)
  })

  await step('measures when asked; works by keyboard alone', async (t) => {
    await open('')
    await page.getByRole('button', { name: 'Measure modules' }).click()
    await page.getByRole('row', { name: /^The host itself/ }).waitFor()
    t.equal(await page.getByRole('row', { name: /^web-console .* %/ }).count(), 1)
    await open('/modules/-/health')
    const whole = page.getByRole('button', { name: 'Check the rows as well' })
    await whole.click()
    await page.getByText('Reading the database.').waitFor()
    await page.getByText('Reading the database.').waitFor({ state: 'detached' })
    await page.locator('.finding, .empty').first().waitFor()
    t.equal(await whole.count(), 0)
    await open('/purchases')
    await page.locator('.rows a.open').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('.pane .timeline').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.pane').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('m')
    await page.getByRole('heading', { name: 'Modules' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    t.equal(await page.getByRole('dialog').count(), 0)
  })

  await step('signs in again: a change needs a sign-in of the last five minutes', async () => {
    complaints.expected = /^401 (GET|POST) \/console\/session$/
    await page.goto(shop.run('console').link)
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    complaints.expected = /^$/
  })

  await step('a module that crashes while it is watched is taken back', async (t) => {
    await open('/modules/-/browse')
    await page.getByLabel('Install from elsewhere').fill(crashing(t.testdir({})))
    await page.getByRole('button', { name: 'See the plan' }).click()
    const window = page.getByRole('dialog')
    await window.getByText('a new source', { exact: true }).waitFor()
    await window.getByLabel(/^I have read/).check()
    await window.getByRole('button', { name: 'Run it' }).click()
    await window.getByText('The host took the change back.').waitFor()
    await window.getByText(/threw outside a request: late/).waitFor()
    await picture(page, 'taken-back')
    await window.getByRole('button', { name: 'Close' }).last().click()
    t.notMatch(shop.run('module-list').modules, [{ id: 'hello' }])
  })

  await step('rolls back', async (t) => {
    const before = generationBefore(shop, 'api-purchase')
    await open('/modules/-/generations')
    await page.getByRole('button', { name: `Roll back to generation ${before}`, exact: true }).click()
    const window = page.getByRole('dialog')
    await window
      .getByText(/- api-purchase/)
      .first()
      .waitFor()
    await window.getByLabel(/^I have read/).check()
    await window.getByRole('button', { name: 'Run it' }).click()
    await window.getByText('Done: the host serves it.').waitFor()
    await window.getByRole('button', { name: 'Close' }).last().click()
    await nav('Purchases').waitFor({ state: 'detached' })
    t.equal((await fetch(`${shop.url}/purchase`)).status, 404)
  })

  await step('a choice beside the plan makes another plan, with another consent', async (t) => {
    await open('/modules/api-cart')
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    const window = page.getByRole('dialog', { name: 'Remove: api-cart' })
    await window.getByText('Its tables and rows stay').waitFor()
    await window.getByLabel('I have read the plan.', { exact: true }).check()
    const go = window.getByRole('button', { name: 'Run it' })
    t.ok(await go.isEnabled())
    await window.getByLabel('Drop its tables as well').check()
    await window.getByText('Data that are dropped').waitFor()
    await window.getByText(/^\d+ × cart$/).waitFor()
    await window.getByText('--purge').first().waitFor()
    t.equal(await window.getByText('Its tables and rows stay').count(), 0)
    t.ok(await go.isDisabled(), 'the consent was to the other plan')
    await window.getByLabel('I have read the plan, and agree that the data above are dropped.').check()
    t.ok(await go.isEnabled())
    t.same(await barriers(page), [])
    await page.keyboard.press('Escape')
    t.match(shop.run('module-list').modules, [{ id: 'api-cart' }, {}, {}, {}])
  })

  await step('with changes off it shows the command to type', async (t) => {
    shop.run('config', 'set', 'web-console.changes', 'false')
    await open('/modules/api-cart')
    await page.getByText('Changes off').first().waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    const window = page.getByRole('dialog')
    await window.getByText('app module-disable api-cart', { exact: true }).waitFor()
    t.equal(await window.getByRole('button', { name: 'Run it' }).count(), 0)
    await page.keyboard.press('Escape')
  })

  await step('a token that only looks signs in, and is offered no change', async (t) => {
    const scope = 'operator:read purchase:read event:read'
    const { token } = shop.run('token', 'bob', '--scope', scope)
    const context = await browser.newContext()
    const looking = await context.newPage()
    await looking.goto(`${shop.url}/console/modules/api-cart`)
    await looking.getByLabel('Token').fill(token)
    await looking.getByRole('button', { name: 'Sign in' }).click()
    await looking.getByText('Looks only').first().waitFor()
    await looking.getByText('@mortise/api-cart').first().waitFor()
    t.equal(await looking.getByRole('button', { name: /Remove|Disable|Upgrade/ }).count(), 0)
    await looking.goto(`${shop.url}/console/modules/-/generations`)
    await looking.getByText('Generation 1').first().waitFor()
    t.equal(await looking.getByRole('button', { name: /Roll back/ }).count(), 0)
    await context.close()
  })

  await step('signs in at the issuer of the setting, which is another site', async (t) => {
    const other = await openPage(browser, shop.url)
    other.complaints.expected = /^401 GET \/console\/session$/
    await other.page.goto(`${shop.url}/console`)
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
    const link = other.page.getByRole('link', { name: 'Continue with your identity provider' })
    t.equal(await link.count(), 0, 'no setting names an issuer')
    const oidc = {
      issuer: issuer.state.issuer,
      clientId: 'console',
      redirectUri: `${shop.url}/console/callback`,
    }
    shop.edit({ modules: { 'web-console': { oidc, changes: false } } })
    // The host asks the issuer when it checks the module.
    await shop.runBeside('config', 'set', 'web-console.idleMinutes', '20')
    await other.page.reload()
    await link.click()
    await other.page.getByRole('link', { name: 'Continue as Ann' }).click()
    await other.page.getByRole('heading', { name: 'Now' }).waitFor()
    await other.page.locator('.who').getByText('ann', { exact: true }).waitFor()
    t.equal(new URL(other.page.url()).pathname, '/console', 'nothing of the login is in the address')
    const elsewhere = other.complaints.list.filter((text) => !text.includes(issuer.state.issuer))
    t.same(elsewhere, [])
    t.equal(issuer.seen.length, 1)
    await other.page.close()
  })

  await step("says what is wrong with an address, or a response that is not the host's", async (t) => {
    complaints.expected = /^(502|404) /
    await open('/products/%E0%A4%A')
    await page.getByRole('alert').getByText('product-not-found').waitFor()
    const html = { contentType: 'text/html', body: '<!doctype html><title>Proxy</title>' }
    for (const [view, status] of [
      ['/audit', 502],
      ['/jobs', 200],
    ] as const) {
      await page.route(`**/console/operator/**`, (route) => route.fulfill({ ...html, status }))
      await open(view)
      await page.getByRole('alert').getByText('The response is not from the host').waitFor()
      await page.unrouteAll()
    }
    await page.route(`**/console/operator/work*`, (route) =>
      route.fulfill({ json: { failed: 7, jobs: 'x' } }),
    )
    await open('/jobs')
    await page.getByRole('alert').waitFor()
    await nav('Audit trail').click()
    await page.getByText('Newest').or(page.getByText('Actor')).first().waitFor()
    await page.unrouteAll()
    await page.route(`**/console/session`, (route) => route.fulfill({ json: {} }))
    await page.reload()
    await page.getByRole('alert').getByText('The response is not from the host').waitFor()
    await page.unrouteAll()
    await page.reload()
    await nav('Audit trail').waitFor()
    t.same(complaints.list, [])
    complaints.expected = /^$/
  })

  await step('ends all sessions, and nothing is left in a second tab', async (t) => {
    const beside = await page.context().newPage()
    await beside.goto(`${shop.url}/console/audit`)
    await beside.locator('table').waitFor()
    await open('/audit')
    await page.getByRole('button', { name: 'End all sessions' }).click()
    const window = page.getByRole('dialog', { name: 'End all sessions' })
    t.same(await barriers(page), [])
    complaints.expected = /^401 /
    await window.getByRole('button', { name: 'End all sessions' }).click()
    for (const one of [page, beside]) await one.getByRole('button', { name: 'Sign in' }).waitFor()
    t.equal(await beside.locator('table').count(), 0)
    await beside.close()
    await page.goto(shop.run('console').link)
    await nav('Audit trail').waitFor()
    complaints.expected = /^$/
  })

  await step('signs out, and the page says so when its session is gone', async (t) => {
    const cookies = await page.context().cookies()
    complaints.expected = /^401 /
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().addCookies(cookies)
    await open('/modules')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    t.same(complaints.list, [], 'no error in the page, and no request to anywhere else')
  })
})

/** Nothing is a barrier in these views, in any size and colours, and nothing is wider than the window. */
async function lookAt(t: Test, page: Page, url: string, views: readonly string[]): Promise<void> {
  for (const view of views) {
    await goInside(page, `${url}/console${view}`)
    for (const [size, colorScheme, isAgain] of sizes) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await settled(page)
      await picture(page, `${view.replace(/[^a-z]+/g, '-').slice(0, 24) || 'now'}-${size.width}`)
      t.same(await barriers(page, isAgain), [], `${view || '/'} at ${size.width}`)
      t.ok((await overflow(page)) <= 0, `${view || '/'} fits ${size.width} pixels`)
    }
  }
}

/** Goes to a view as a link does: without another page. */
async function goInside(page: Page, url: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(url)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
}

/** Waits until nothing of a view is loading. */
async function settled(page: Page): Promise<void> {
  await page.locator('h1, .empty').first().waitFor()
  await page.locator('.wait').first().waitFor({ state: 'detached' })
}

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await what()); ) {
    if (Date.now() > end) throw new Error('it did not come to pass')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The folder of a module that passes the probe, serves, and throws a second later. */
function crashing(folder: string): string {
  const json = {
    name: '@acme/hello',
    version: '1.0.0',
    type: 'module',
    exports: './index.js',
    peerDependencies: { '@mortise/module-sdk': '^1.0.0' },
    mortise: { id: 'hello', host: '^1.0.0', routes: ['GET /hello'] },
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(json))
  writeFileSync(
    join(folder, 'index.js'),
    `import { defineModule } from '@mortise/module-sdk'
export default defineModule('hello').plugin(async (app) => {
  app.get('/hello', { config: { access: 'public' } }, async () => ({ hello: true }))
  if (process.env.MORTISE_TEST_LATE) setTimeout(() => { throw new Error('late') }, 1500).unref()
})
`,
  )
  return folder
}

/** The generation before the one that added a module. */
function generationBefore(shop: Shop, module: string): number {
  type Generation = { generation: number; changes: string[] }
  const { generations } = shop.run('module-history') as { generations: Generation[] }
  const added = generations.findIndex(({ changes }) =>
    changes.some((text) => text.startsWith(`+ ${module} `)),
  )
  return generations[added - 1]?.generation ?? -1
}
