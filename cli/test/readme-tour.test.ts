import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const euros = (amount: number) => ({ amount, currency: 'EUR' })

t.test('the tour of the README buys something that has a price', async (t) => {
  const readme = await readFile(`${root}README.md`, 'utf8')
  const tour = readme.slice(
    readme.indexOf('## Try it'),
    readme.indexOf('Remove a module and install it again'),
  )
  const blocks = Array.from(tour.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => block as string)
  t.equal(blocks.length, 3)
  const { directory, run } = await testApplication(t)
  t.match(await run('module-install', 'api-cart', 'api-purchase'), { exitCode: 0 })
  const { url } = await runningHost(t, directory)
  const script = blocks
    .join('')
    .replaceAll('http://127.0.0.1:3000', url)
    .replaceAll('.app-demo', `"${directory}"`)
    .replaceAll('curl ', `curl -w '\\n' `)
  const loads = /^node docs.*$/m.exec(script)?.[0] as string
  const { stdout } = await promisify(execFile)('sh', ['-ec', `${script}\n${loads}`], { cwd: root })
  const lines = stdout.split('\n')
  t.ok(lines.includes('50 products created, 0 were there already'))
  t.equal(lines.at(-2), '0 products created, 50 were there already', 'it can run again')
  const [added, , opaque, found, priced, bought, list] = lines
    .filter((line) => line.startsWith('{"'))
    .filter((line) => !line.startsWith('{"token"'))
    .map((line) => JSON.parse(line))
  t.match(added, { product: 'tea', name: null })
  t.match(opaque, { total: null, items: [{ product: 'tea', quantity: 2 }] })
  t.match(found.data[0], { id: 'tea', name: 'Breakfast tea, 20 bags', price: euros(390) })
  t.match(priced, { total: euros(780), items: [{ name: 'Breakfast tea, 20 bags', lineTotal: euros(780) }] })
  t.match(bought, { total: euros(780 + 850), items: [{ unitPrice: euros(390) }, { name: 'Cup, white' }] })
  t.match(list.data, [{ id: bought.id, total: bought.total }])
})
