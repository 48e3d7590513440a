import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t from 'tap'
import { checkoutRegistry } from './checkout-registry.ts'
import { testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'

t.test('a session takes up a module that is installed meanwhile', async (t) => {
  const registry = await checkoutRegistry(t, '', () => false)
  const { directory, run } = await testApplication(t)
  process.env.npm_config_registry = registry
  const tools = await run('module-install', 'api-cart', 'api-mcp', '--yes')
  t.equal(tools.exitCode, 0, tools.stdout)
  const running = await runningHost(t, directory)
  const configuration = (await run('mcp', 'ann')).json.mcpServers
  const [{ url, headers }] = Object.values(configuration) as [
    { url: string; headers: Record<string, string> },
  ]
  t.equal(url, `${running.url}/mcp`)

  const changed = Promise.withResolvers<void>()
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      versionNegotiation: { mode: 'auto' },
      listChanged: { tools: { autoRefresh: false, onChanged: () => changed.resolve() } },
    },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  t.teardown(() => client.close())
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  t.notOk((await names()).includes('postPurchase'))
  const tea = { product: 'tea', quantity: 2 }
  t.match(await client.callTool({ name: 'postCartItem', arguments: { body: tea } }), {
    structuredContent: tea,
  })

  t.equal((await run('module-install', 'api-purchase')).exitCode, 0)
  await changed.promise
  t.ok((await names()).includes('postPurchase'))
  const bought = await client.callTool({
    name: 'postPurchase',
    arguments: { body: { items: [tea], takeFromCart: true } },
  })
  t.match(bought, { structuredContent: { status: 'pending', items: [tea] } })
  t.match(await client.callTool({ name: 'getCart', arguments: {} }), { structuredContent: { itemCount: 0 } })
})
