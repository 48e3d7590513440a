import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Destinations } from '../src/destinations.ts'
import { fetchPublic } from '../src/fetch-public.ts'

const destinations = new Destinations({ plainHttp: true, networks: ['127.0.0.0/8'], setting: 'networks' })

async function serverFor(t: Test, listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/picture`)
}

t.test('a GET returns bytes and headers, up to the limit', async (t) => {
  const picture = Buffer.from([0, 255, 1, 254])
  const url = await serverFor(t, (request, response) => {
    t.match(request, { method: 'GET', url: '/picture', headers: { accept: 'image/png' } })
    response.writeHead(200, { 'content-type': 'image/png' }).end(picture)
  })
  const whole = await fetchPublic(url, { destinations, headers: { accept: 'image/png' } })
  t.match(whole, { status: 200, error: null, headers: { 'content-type': 'image/png' } })
  t.same(whole.status !== null && whole.body, picture)
  const part = await fetchPublic(url, { destinations, headers: { accept: 'image/png' }, responseLimit: 2 })
  t.same(part.status !== null && part.body, picture.subarray(0, 2))
})

t.test(
  'an address that is not public is refused, and the setting that would allow it is named',
  async (t) => {
    const inside = new Destinations({ plainHttp: true, networks: [], setting: 'pictureNetworks' })
    const url = await serverFor(t, () => t.fail('it connected'))
    t.match(await fetchPublic(url, { destinations: inside }), {
      status: null,
      error: /^not sent: the URL resolves to an address that is not public: .+pictureNetworks$/,
    })
  },
)

t.test('the caller can end it', async (t) => {
  const url = await serverFor(t, () => {})
  const outcome = await fetchPublic(url, { destinations, ended: AbortSignal.abort() })
  t.same(outcome, { status: null, error: 'cut off: the application stopped' })
})
