import t from 'tap'
import { Application } from '../../src/application.ts'
import { applicationFolder, install, oneRoute } from '../application-folder.ts'
import { openBrowser, noBrowser as skip } from '../open-browser.ts'

t.test('a browser shows the routes of what is installed, and sends requests', { skip }, async (t) => {
  const directory = await applicationFolder(t, { basePath: '/api' })
  await install(t, directory, oneRoute('note', 'from the page'))
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const browser = await openBrowser(t)
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
