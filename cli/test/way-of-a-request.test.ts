import { readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { Application } from '@mortise/host/serving'
import t from 'tap'
import { runApp } from './run-app.ts'

/** The most files that a request passes. */
const MOST = 43
const TIMES = 21

// Optimized code inlines short functions, and V8 does not count inlined calls.
for (const flag of ['--no-turbofan', '--no-maglev']) setFlagsFromString(flag)

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The source of a built file of ours; undefined for others. A module runs from the store of its application. */
function sourceOf(url: string): string | undefined {
  const [, folder, file] =
    /@mortise\+([a-z-]+)@[^/]+\/dist\/(.+)\.js$/.exec(url) ??
    /\/(?:packages\/)?(module-sdk|storage|host)\/dist\/(.+)\.js$/.exec(url) ??
    []
  if (folder === undefined) return undefined
  return `${folder === 'host' ? '' : 'packages/'}${folder}/src/${file}.ts`
}

t.test('docs/architecture.md names exactly the files that POST /cart/item passes', async (t) => {
  const directory = t.testdir({})
  for (const words of [['init'], ['module-install', '--yes', join(root, 'packages/api-cart'), '--yes']]) {
    t.equal((await runApp(...words, '--dir', directory)).exitCode, 0)
  }
  const environment = { APP_SERVER_PORT: '0', APP_LOG_LEVEL: 'silent' }
  const application = await Application.start({ directory, environment })
  t.teardown(() => application.close())
  const { url } = application
  const add = async (headers: Record<string, string>) => {
    const response = await fetch(`${url}/cart/item`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ product: `product ${Math.random()}`, quantity: 1 }),
    })
    t.equal(response.status, 201)
    return response
  }
  const guest = { 'guest-token': (await add({})).headers.get('guest-token') as string }
  await add(guest)

  const session = new Session()
  session.connect()
  t.teardown(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  /** The files with a function that runs meanwhile. */
  const filesOf = async (work: () => Promise<unknown>) => {
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.filter(({ functions }) =>
      functions.some(({ functionName, ranges: [range] }) => {
        const isModule = functionName === '' && range?.startOffset === 0
        return !isModule && (range?.count ?? 0) > 0
      }),
    )
    return new Set(ran.flatMap((script) => sourceOf(script.url) ?? []))
  }
  // What timers do is in few of them.
  const times = new Map<string, number>()
  for (let time = 0; time < TIMES; time += 1)
    for (const file of await filesOf(() => add(guest))) times.set(file, (times.get(file) ?? 0) + 1)
  const passed = [...times].flatMap(([file, count]) => (count > TIMES / 2 ? [file] : []))

  const page = await readFile(join(root, 'docs/architecture.md'), 'utf8')
  const [way = ''] = /^## The way of a request\n[\s\S]*?(?=^A problem)/m.exec(page) ?? []
  const named = Array.from(way.matchAll(/`([\w/-]+\.ts)`/g), ([, file]) => file as string)
  t.same(named.toSorted(), passed.sort())
  t.ok(passed.length <= MOST, `${passed.length} files`)
})
