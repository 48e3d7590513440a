import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { args, executablePath, noBrowser as noChromium } from '../../../../host/test/open-browser.ts'

const built = fileURLToPath(new URL('../../dist/page/index.html', import.meta.url))

/** Why the page cannot be opened here; false where it can. */
export const noBrowser = noChromium || (existsSync(built) ? false : 'the page is not built: npm run build')

const checkout = fileURLToPath(new URL('../../../../', import.meta.url))
/** Where the pictures of a run are: git ignores it. */
export const pictures = join(checkout, '.tap', 'console')

export interface Size {
  readonly width: number
  readonly height: number
}

/** A Chromium until the test ends. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: executablePath as string,
    args,
  })
  t.teardown(() => browser.close())
  return browser
}

/** What must not happen in a page: errors, and requests to anywhere else. */
export interface Complaints {
  readonly list: string[]
  /** Problems that the test causes by intent. */
  expected: RegExp
}

export async function openPage(
  browser: Browser,
  url: string,
  size: Size = { width: 1280, height: 800 },
  colorScheme: 'light' | 'dark' = 'light',
) {
  const context = await browser.newContext({ viewport: size, colorScheme, reducedMotion: 'reduce' })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const complaints: Complaints = { list: [], expected: /^$/ }
  context.on('weberror', (error) => complaints.list.push(`error: ${error.error().message}`))
  context.on('console', (message) => {
    // A refused request is a line of the console, too: `response` has its status and path.
    if (message.type() === 'error' && !/^Failed to load resource/.test(message.text()))
      complaints.list.push(`console: ${message.text()}`)
  })
  context.on('response', (response) => {
    const what = `${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`
    if (response.status() >= 400 && !complaints.expected.test(what)) complaints.list.push(what)
  })
  context.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.list.push(`elsewhere: ${request.url()}`)
  })
  return { page, complaints }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const everyRule = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** What colours and sizes decide: the other rules look at the same elements again. */
const lookRules = ['color-contrast', 'target-size']

/**
 * What axe finds on the page as it is, WCAG 2.2 AA: each as one line.
 * @param isAgain whether the page has been looked at in another size and other colours
 */
export async function barriers(page: Page, isAgain = false): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe)
  const runOnly = isAgain ? { type: 'rule', values: lookRules } : everyRule
  return await page.evaluate(async (runOnly) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
    const { violations } = await (globalThis as any).axe.run({ runOnly })
    type Violation = { impact: string; id: string; help: string; nodes: { html: string }[] }
    return (violations as Violation[])
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
      )
  }, runOnly)
}

export async function picture(page: Page, name: string): Promise<void> {
  const path = join(pictures, `${name}.png`)
  mkdirSync(dirname(path), { recursive: true })
  await page.screenshot({ path })
}

/** How many pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')
