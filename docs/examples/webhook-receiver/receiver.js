// Receives webhooks: WEBHOOK_SECRET=whsec_… node receiver.js [port]
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace(/^whsec_/, ''), 'base64')
if (key.length === 0) throw new Error('set WEBHOOK_SECRET to the secret of the webhook')
const MOST_SECONDS = 5 * 60
const MOST_BYTES = 1024 * 1024

/** The events that are done. Yours belong into your database, in the transaction of what you do about them. */
const done = new Set()

const server = createServer(async (request, response) => {
  const respond = (status) => response.writeHead(status).end()
  if (request.method !== 'POST') return respond(405)
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MOST_BYTES) return respond(413)
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  if (!isGenuine(request.headers, body)) return respond(401)
  const event = JSON.parse(body)
  if (!done.has(event.id)) {
    console.log(`${event.type} ${event.subject} ${JSON.stringify(event.data)}`)
    done.add(event.id)
  }
  respond(204)
})

/** Standard Webhooks: one of the signatures is that of the id, the time and the very bytes that came. */
function isGenuine(headers, body) {
  const id = headers['webhook-id']
  const at = headers['webhook-timestamp']
  if (!(Math.abs(Date.now() / 1000 - Number(at)) <= MOST_SECONDS)) return false
  const expected = createHmac('sha256', key).update(`${id}.${at}.`).update(body).digest()
  return String(headers['webhook-signature'])
    .split(' ')
    .some((signature) => {
      const [version, base64] = signature.split(',')
      const given = Buffer.from(base64 ?? '', 'base64')
      return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
    })
}

server.listen(Number(process.argv[2] ?? 4000), '127.0.0.1', () => {
  console.log(`receiving at http://127.0.0.1:${server.address().port}`)
})
