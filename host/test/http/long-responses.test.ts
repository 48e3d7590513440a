import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { Response } from '../../src/http/place.ts'
import { dial, listen } from './exchange.ts'

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

t.test('a response that stays open takes a place, or ends, in every module', async (t) => {
  const held: string[] = []
  const opened: Response<never>[] = []
  const listener: RequestListener = ({ url = '' }, raw) => {
    const response = raw as Response<never>
    const holdOpen = () => {
      held.push(url)
      if (url === '/last') throw new Error('Your address has 20 open streams')
      response.isHeld = true
    }
    const reply = { holdOpen, log: { warn: (text: string) => held.push(text) } }
    if (url !== '/of-the-host') response.reply = reply as never
    opened.push(response)
    if (url === '/waits') return
    response.writeHead(200, url === '/of-known-length' ? { 'content-length': '5' } : {})
    if (url === '/ends') response.end()
    else response.write('x')
  }
  const server = await listen(t, listener, { lookInterval: 5 })
  const open = async (path: string) => {
    const socket = dial(t, server)
    socket.on('error', () => {})
    socket.resume()
    socket.write(ask(path))
    return socket
  }
  for (const path of ['/ends', '/waits', '/of-the-host', '/chunked', '/of-known-length']) await open(path)
  const last = await open('/last')
  await once(last, 'close')
  while (held.length < 4) await new Promise((resolve) => setImmediate(resolve))
  t.same(held.toSorted(), [
    ...['/chunked', '/last', '/of-known-length'],
    'a response that stays open was cut off: Your address has 20 open streams',
  ])
  for (const response of opened) response.end()
})
