import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { openBrowser, noBrowser as skip } from '../open-browser.ts'

/** Serves one page, at a host that is another site than 127.0.0.1. */
async function otherSite(t: Test, html: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(html)
  })
  t.teardown(() => server.close())
  await once(server.listen(0), 'listening')
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

t.test('no page of another site takes the guest of a browser away', { skip }, async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', 'a note'))
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const { url } = application
  const browser = await openBrowser(t)
  const page = await browser.newPage()
  const guest = async () => (await browser.cookies(url)).find(({ name }) => name === 'guest')?.value

  await page.goto(`${url}/docs`)
  const become = () => page.evaluate(async () => (await fetch('/guest', { method: 'POST' })).status)
  t.equal(await become(), 201)
  const before = await guest()
  t.ok(before)

  const form = `<form method="post" action="${url}/guest"><button>Win</button></form>`
  const hostile = await otherSite(
    t,
    `${form}<a href="${url}/note">Look</a><iframe sandbox="allow-forms" srcdoc='${form}'></iframe>`,
  )
  const responded = (path: string) => page.waitForResponse((response) => response.url() === url + path)
  const click = async (path: string, act: () => Promise<void>) => {
    await page.goto(hostile)
    const [response] = await Promise.all([responded(path), act()])
    return response.status()
  }
  t.equal(await click('/guest', () => page.locator('body > form button').click()), 403)
  t.equal(await click('/guest', () => page.frameLocator('iframe').getByRole('button').click()), 403)
  const blind = () =>
    page.evaluate(async (to) => {
      await fetch(to, { method: 'POST', mode: 'no-cors', credentials: 'include' })
    }, `${url}/guest`)
  t.equal(await click('/guest', blind), 403)
  t.equal(await click('/note', () => page.getByRole('link').click()), 200, 'a link leads here')
  t.equal(await guest(), before)

  await page.goto(`${url}/docs`)
  t.equal(await become(), 201)
  t.not(await guest(), before, 'its own pages may')
})
