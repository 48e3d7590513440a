import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import t from 'tap'
import { Application } from '../../src/application.ts'
import { applicationFolder, install, oneRoute } from '../application-folder.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)
const skip = executablePath ? false : 'no Chromium on this machine: apt-get install chromium'

t.test('a browser shows the routes of what is installed, and sends requests', { skip }, async (t) => {
  const directory = await applicationFolder(t, { basePath: '/api' })
  await install(t, directory, oneRoute('note', 'from the page'))
  const application = await Application.start({ directory, environment: {} })
  const profile = await mkdtemp(join(tmpdir(), 'mortise-browser-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath as string,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  t.teardown(async () => {
    await browser.close()
    await rm(profile, { recursive: true, force: true })
    await application.close()
  })
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))

  await page.goto(`${application.url}/docs`)
  await page.locator('.opblock-summary-path', { hasText: '/note' }).click()
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.locator('.live-responses-table').getByText('from the page').first().waitFor()
  t.same(complaints, [])
})
