import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import {
  applicationFolder,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
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
  await page.locator('#guest', { hasText: `curl ${application.url}/` }).waitFor()
  const example = String(await page.locator('#guest').textContent())
  const { stdout: guest } = await promisify(execFile)('sh', ['-c', example])
  t.match(JSON.parse(guest), { links: { docs: '/api/docs' } }, 'the example works as it stands')
  t.match(await page.locator('#user').textContent(), `curl ${application.url}/ -H "Authorization: Bearer`)

  await page.locator('.opblock-summary-path', { hasText: '/note' }).click()
  const failure = page.locator('.response[data-code^="4"]').first()
  await failure.waitFor({ state: 'attached' })
  t.notOk(await failure.isVisible(), 'error responses are folded away')
  await page.getByLabel('Show the error responses').check()
  t.ok(await failure.isVisible())
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.locator('.live-responses-table').getByText('from the page').first().waitFor()
  t.same(complaints, [])
})
