import { execFile } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { copiesOf } from '../run-app.ts'
import { runningHost } from '../running-host.ts'

const run = promisify(execFile)
const picture = join(import.meta.dirname, '../../../docs/examples/picture')
const installed = copiesOf(({ run }) =>
  run('module-install', 'api-cart', 'api-purchase', 'api-event', picture, '--yes'),
)

const use = `
import { createClient, type Event, type Events } from './client/index.mjs'

const [, , baseUrl, token] = process.argv as string[]
const api = createClient({ baseUrl: String(baseUrl), token: () => token })

const added = await api.POST('/cart/item', { body: { product: 'tea', quantity: 2 } })
const line = added.data && 'quantity' in added.data ? added.data : undefined
const quantity: number | undefined = line?.quantity
const bought = await api.POST('/purchase', {
  params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
  body: { items: [{ product: 'tea', quantity: 1 }], takeFromCart: true },
})
const { data: events, error } = await api.GET('/event', { params: { query: { types: 'purchase.created' } } })
if (error) throw new Error(error.code)

const products = (event: Event<'purchase.created'>) => event.data.items.map(({ product }) => product)
const isPurchase = (event: { type: string }): event is Events['purchase.created'] => event.type === 'purchase.created'
const seen = events.data.filter(isPurchase).flatMap(products)

const bytes = Uint8Array.from({ length: 256 }, (_, value) => value)
const body = { title: 'The shop', picture: new Blob([bytes], { type: 'image/png' }) }
const uploaded = await api.POST('/picture', { body })
const id = uploaded.data?.id ?? ''
const shown: { data?: Blob } = await api.GET('/picture/{id}', { params: { path: { id } }, parseAs: 'blob' })
const received = await shown.data?.bytes()
const again = await api.request('post', '/picture', { body: { ...body, title: 'Again' } })
const pictures = { size: uploaded.data?.size, same: received?.join() === bytes.join(), again: again.data?.title }

// A guest's cart becomes the user's at sign-in.
let signedIn: string | undefined
let kept: string | undefined
const guest = { read: () => kept, write: (token?: string) => void (kept = token) }
const visitor = createClient({ baseUrl: String(baseUrl), token: () => signedIn, guest })
await visitor.POST('/cart/item', { body: { product: 'cup', quantity: 1 } })
const asGuest = (await visitor.GET('/cart')).data?.itemCount
const hadToken = kept !== undefined
signedIn = process.argv[4]
const [mine] = await Promise.all([visitor.GET('/cart'), visitor.GET('/purchase')])
const claimed = { asGuest, hadToken, mine: mine.data?.items.map(({ product }) => product), kept: kept ?? null }

// What was bought meanwhile arrives, typed.
const stop = new AbortController()
const followed: string[] = []
for await (const { data } of api.events({ types: ['purchase.created'], after: 'start', signal: stop.signal })) {
  followed.push(...data.items.map(({ product }) => product))
  stop.abort()
}

// Every problem is known by its code.
const changed = await api.PATCH('/purchase/{id}', {
  params: { path: { id: bought.data?.id ?? '' } },
  body: { status: 'completed' },
})
let allowed: string[] = []
switch (changed.error?.code) {
  case 'illegal-transition':
    allowed = changed.error.allowed
    break
  case 'insufficient-scope':
    allowed = ['scope']
}
console.log(JSON.stringify({ quantity, status: bought.data?.status, seen, pictures, claimed, followed, allowed }))
`
const mistakes = `
import { createClient, type Events } from './client/index.mjs'
const api = createClient({ baseUrl: '' })
// @ts-expect-error no module has this route
void api.GET('/carts')
// @ts-expect-error a quantity is a number
void api.POST('/cart/item', { body: { product: 'tea', quantity: 'two' } })
// @ts-expect-error a picture is a Blob
void api.POST('/picture', { body: { title: 'The shop', picture: 'text' } })
const { error } = await api.PATCH('/purchase/{id}', { params: { path: { id: '' } }, body: { status: 'confirmed' } })
switch (error?.code) {
  // @ts-expect-error this route has no such problem
  case 'cart-full':
}
// @ts-expect-error no module emits this event
export type Unknown = Events['purchase.sold']
`

t.test("the client compiles in a stranger's strict project, and calls the application", async (t) => {
  const application = await installed(t)
  const project = join(application.root, 'project')
  const written = await application.run('client', join(project, 'client'))
  t.equal(written.exitCode, 0, written.stdout)
  t.match(written.json, { folder: join(project, 'client'), files: ['index.mjs', 'index.d.mts', 'api.d.mts'] })
  const { mode } = await stat(join(project, 'client', 'api.d.mts'))
  t.equal(
    mode & 0o777,
    0o666 & ~process.umask(),
    'others can read the files, as any file that an editor writes',
  )

  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: ['node'],
    outDir: 'built',
    rootDir: '.',
    noEmitOnError: true,
  }
  await writeFile(join(project, 'package.json'), '{"type": "module"}')
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  await writeFile(join(project, 'use.ts'), use)
  await writeFile(join(project, 'mistakes.ts'), mistakes)
  const page = await readFile(new URL('../../../docs/calling.md', import.meta.url), 'utf8')
  const [, block = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(page) ?? []
  t.not(block, '')
  await writeFile(join(project, 'page.ts'), `${block}\nexport { data, products }\n`)
  const tsc = join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc')
  const compiled = await run(process.execPath, [tsc, '-p', project]).catch(({ stdout }) => ({ stdout }))
  t.equal(compiled.stdout, '')

  const { url } = await runningHost(t, application.directory)
  const remote = await application.run('client', join(project, 'remote'), url)
  t.equal(remote.exitCode, 0, remote.stdout)
  for (const file of ['index.mjs', 'index.d.mts', 'api.d.mts']) {
    const ours = await readFile(join(project, 'client', file), 'utf8')
    t.equal(await readFile(join(project, 'remote', file), 'utf8'), ours, `${file} from the URL is the same`)
  }
  const missing = await application.run('client', join(project, 'nothing'), `${url}/nowhere`)
  t.equal(missing.exitCode, 3)
  t.match(missing.json.error, { code: 'no-document', message: `${url}/nowhere/openapi.json` })
  const token = (await application.run('token', 'ann')).json.token
  await mkdir(join(project, 'built', 'client'), { recursive: true })
  await writeFile(
    join(project, 'built', 'client', 'index.mjs'),
    await readFile(join(project, 'client', 'index.mjs')),
  )
  const visitor = (await application.run('token', 'bea')).json.token
  const used = await run(process.execPath, [join(project, 'built', 'use.js'), url, token, visitor])
  t.match(JSON.parse(used.stdout), {
    quantity: 2,
    status: 'pending',
    seen: ['tea'],
    pictures: { size: 256, same: true, again: 'Again' },
    claimed: { asGuest: 1, hadToken: true, mine: ['cup'], kept: null },
    followed: ['tea'],
    allowed: ['confirmed', 'cancelled'],
  })
})

t.test('a second run replaces its own files, and nothing else', async (t) => {
  const application = await installed(t)
  const folder = join(application.root, 'client')
  t.equal((await application.run('client', folder)).exitCode, 0)
  t.equal((await application.run('client', folder)).exitCode, 0)
  await writeFile(join(folder, 'index.mjs'), 'export const mine = 1\n')
  const refused = await application.run('client', folder)
  t.equal(refused.exitCode, 4)
  t.match(refused.json.error, { code: 'file-exists', message: join(folder, 'index.mjs') })
  t.equal(await readFile(join(folder, 'index.mjs'), 'utf8'), 'export const mine = 1\n')
})
