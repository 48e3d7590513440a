import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { webhookHost } from './webhook-host.ts'

const file = fileURLToPath(new URL('../../../../docs/examples/webhook-receiver/receiver.js', import.meta.url))

/** The receiver of the docs, started with a secret: where it is, and the lines that it prints. */
async function startReceiver(t: Test, secret: string, port = '0') {
  const child = spawn(process.execPath, [file, port], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill()
    await exited
  }
  t.teardown(stop)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value as string
  return { url: (await line()).replace('receiving at ', ''), line, stop }
}

t.test('the receiver of the docs accepts genuine deliveries once, and nothing else', async (t) => {
  const host = await webhookHost(t)
  const wrong = await startReceiver(t, 'whsec_d3Jvbmc=')
  const { id, secret } = (await host.ann.post('/webhook', { url: wrong.url })).json()
  const log = `/webhook/${id}/delivery`
  const deliverer = host.deliverer()
  await host.happen('purchase_a', { data: { total: 3 } })
  await deliverer.deliverDue()
  const [refused] = (await host.ann.get(log)).json().data
  t.match(refused, { state: 'pending', status: 401 })

  const right = await startReceiver(t, secret)
  await host.ann.patch(`/webhook/${id}`, { url: right.url })
  for (const status of [204, 204]) {
    await host.ann.post(`${log}/${refused.id}/replay`)
    await deliverer.deliverDue()
    t.match((await host.ann.get(`${log}/${refused.id}`)).json(), { state: 'delivered', status })
  }
  await host.ann.post(`/webhook/${id}/secret`)
  await host.happen('purchase_b', { data: {} })
  await deliverer.deliverDue()
  t.equal(await right.line(), 'purchase.created purchase_a {"total":3}')
  t.equal(await right.line(), 'purchase.created purchase_b {}', 'once, and with a secret that was rotated')
})
