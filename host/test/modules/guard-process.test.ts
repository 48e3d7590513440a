import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { decide, emptyLockFile, type LockedModule, readLockFile, writeLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
  temporaryFolder,
} from '../../../packages/application/test/application-folder.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'

/** Runs a host that owns its process; returns its URL once it serves. */
async function startProcess(t: Test, directory: string): Promise<{ url: string; child: ChildProcess }> {
  const script = join(directory, 'host.mjs')
  const application = new URL('../../src/application.ts', import.meta.url).href
  await writeFile(
    script,
    `import { Application } from '${application}'
     process.on('SIGUSR2', () => setTimeout(() => { throw new Error('of the host') }))
     const running = await Application.start({ directory: ${JSON.stringify(directory)}, environment: {}, ownsProcess: true })
     console.log(running.url)
     await running.closed.catch(() => { process.exitCode = 17; return running.close() })`,
  )
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => [`ended with ${code}`]),
  ])
  return { url, child }
}

const withCode = (id: string, atStart: string, onRequest: string): FixtureModule => ({
  manifest: { id, routes: [`GET /${id}`] },
  files: {
    'index.js': `export default async (app) => {
      app.get('/${id}', { config: { access: 'public' } }, async (request) => { ${onRequest} })
      ${atStart}
    }`,
  },
})
const bad = (id: string, code: string) => withCode(id, code, 'return {}')
const onRequest = (id: string, code: string) => withCode(id, '', code)

const offences = {
  exits: 'process.exit(3)',
  really: 'process.reallyExit(3)',
  aborts: 'process.abort()',
  latexit: 'setTimeout(() => process.exit(3), 20)',
  throws: "setTimeout(() => { throw new Error('late') }, 20)",
  rejects: "Promise.reject(new Error('alone'))",
}

const statusOf = async (url: string) => (await fetch(url)).status
const stateOf = async (directory: string, id: string) => {
  const state = await callRunningHost(directory, 'state')
  return state?.modules.find((one) => one.id === id)
}

t.test('a failure at boot ends the module, never the host', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('good', 'yes'))
  for (const [id, code] of Object.entries(offences)) await install(t, directory, bad(id, code))
  const { url } = await startProcess(t, directory)
  for (const id of Object.keys(offences)) {
    while ((await stateOf(directory, id))?.state !== 'failed') await new Promise(setImmediate)
    t.equal(await statusOf(`${url}/${id}`), 503, id)
  }
  t.equal(await statusOf(`${url}/good`), 200)
  t.match(await stateOf(directory, 'exits'), { reason: /process\.exit\(\), which only the host may call/ })
  t.match(await stateOf(directory, 'throws'), { reason: /outside a request: late/ })
})

t.test('a module that would end the host is refused or removed from service', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('good', 'yes'))
  const { url } = await startProcess(t, directory)
  await install(t, directory, bad('exits', offences.exits))
  await t.rejects(callRunningHost(directory, 'activate'), { name: 'HostRefusedError', status: 409 })
  await install(t, directory, bad('rejects', offences.rejects))
  await t.rejects(callRunningHost(directory, 'activate'), { name: 'HostRefusedError', status: 409 })
  t.equal(await statusOf(`${url}/good`), 200)
  t.equal(await statusOf(`${url}/exits`), 404)
})

t.test('a module that fails outside of a request during its self-check is refused', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('good', 'yes'))
  const { url } = await startProcess(t, directory)
  await install(t, directory, onRequest('alone', `${offences.rejects}\n return {}`))
  await t.rejects(callRunningHost(directory, 'activate'), {
    name: 'HostRefusedError',
    status: 409,
    message: /alone: it threw outside a request/,
  })
  t.equal(await statusOf(`${url}/alone`), 404)
  t.equal(await statusOf(`${url}/good`), 200)
})

t.test('a failed module that is disabled and enabled again serves again', async (t) => {
  const directory = await applicationFolder(t)
  // Not in the self-check, which would have the change reverted.
  await install(t, directory, onRequest('late', `if (request.headers.fail) ${offences.throws}`))
  const { url } = await startProcess(t, directory)
  await fetch(`${url}/late`, { headers: { fail: 'yes' } })
  while ((await stateOf(directory, 'late'))?.state !== 'failed') await new Promise(setImmediate)
  for (const state of ['disabled', 'active'] as const) {
    const { generation, modules } = await readLockFile(directory)
    const late = decide(modules.late as LockedModule, { state })
    await writeLockFile(directory, { ...emptyLockFile, generation: generation + 1, modules: { late } })
    await callRunningHost(directory, 'activate')
    t.match(await stateOf(directory, 'late'), { state })
  }
  t.equal(await statusOf(`${url}/late`), 200)
})

t.test('process.exit in a route fails only the request', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, onRequest('inroute', 'process.exit(3)'))
  const { url } = await startProcess(t, directory)
  t.equal(await statusOf(`${url}/inroute`), 500)
  t.equal(await statusOf(`${url}/`), 200)
})

t.test('a module is found in a folder of any name, also behind a symbolic link', async (t) => {
  const folder = await temporaryFolder(t)
  const [real, link] = [join(folder, "Ann's shop (1) #2"), join(folder, 'link')]
  await rename(await applicationFolder(t), real)
  await symlink(real, link)
  for (const id of ['inroute', 'late', 'alone', 'unheard'] as const) {
    const code = { inroute: 'exits', late: 'throws', alone: 'rejects' } as const
    await install(t, real, onRequest(id, id === 'unheard' ? unheard.socket : offences[code[id]]))
  }
  for (const directory of [real, link]) {
    const { url, child } = await startProcess(t, directory)
    t.equal(await statusOf(`${url}/inroute`), 500)
    for (const id of ['late', 'alone', 'unheard']) {
      await statusOf(`${url}/${id}`)
      while ((await stateOf(directory, id))?.state !== 'failed') await new Promise(setImmediate)
    }
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

/** Each fails later without a listener for it, and its error has no frame of the module. */
const unheard = {
  socket: "(await import('node:net')).connect(1, '127.0.0.1')",
  request: "(await import('node:http')).get('http://127.0.0.1:1/')",
  secure: "(await import('node:tls')).connect(1, '127.0.0.1')",
  server: "(await import('node:net')).createServer().listen(1, '192.0.2.1')",
  datagram: "(await import('node:dgram')).createSocket('udp4').bind(1, '192.0.2.1')",
  child: "(await import('node:child_process')).spawn('/nowhere')",
}

t.test(
  'a module whose error has no listener is removed, early or late, and the host serves on',
  async (t) => {
    const directory = await applicationFolder(t)
    await install(t, directory, oneRoute('good', 'yes'))
    for (const [id, code] of Object.entries(unheard)) {
      await install(t, directory, bad(`early-${id}`, code))
      await install(t, directory, onRequest(`late-${id}`, `${code}\n return {}`))
    }
    const { url } = await startProcess(t, directory)
    const failed = async (id: string) => {
      while ((await stateOf(directory, id))?.state !== 'failed') await new Promise(setImmediate)
      t.equal(await statusOf(`${url}/${id}`), 503, id)
    }
    for (const id of Object.keys(unheard)) await failed(`early-${id}`)
    for (const id of Object.keys(unheard)) {
      t.equal((await stateOf(directory, `late-${id}`))?.state, 'active')
      // The module may fail before its response.
      t.ok([200, 503].includes(await statusOf(`${url}/late-${id}`)))
      await failed(`late-${id}`)
    }
    t.match(await stateOf(directory, 'late-request'), {
      reason: /no listener: connect ECONNREFUSED 127\.0\.0\.1:1/,
    })
    t.equal(await statusOf(`${url}/good`), 200)
  },
)

t.test('an error that a module listens for is its own affair', async (t) => {
  const directory = await applicationFolder(t)
  const code = `const net = await import('node:net')
    return await new Promise((done) => net.connect(1, '127.0.0.1').on('error', ({ code }) => done({ code })))`
  await install(t, directory, onRequest('careful', code))
  const { url } = await startProcess(t, directory)
  t.same(await (await fetch(`${url}/careful`)).json(), { code: 'ECONNREFUSED' })
  t.match(await stateOf(directory, 'careful'), { state: 'active' })
})

t.test('an uncaught error of the host ends it', async (t) => {
  const { child } = await startProcess(t, await applicationFolder(t))
  child.kill('SIGUSR2')
  const [code] = await once(child, 'exit')
  t.equal(code, 17)
})

async function withModules(t: Test, directory: string, ...modules: FixtureModule[]) {
  await install(t, directory, oneRoute('good', 'yes'), ...modules)
  return await startProcess(t, directory)
}

/** Opens connections to the host itself, and responds when each is open or has failed. */
const opens = (count: number) => `const net = await import('node:net')
  const port = Number(request.headers.host.split(':')[1])
  globalThis.opened ??= []
  if (request.headers.close) {
    for (const one of globalThis.opened.splice(0)) one.destroy()
    return []
  }
  const fresh = Array.from({ length: ${count} }, () => net.connect(port, '127.0.0.1'))
  globalThis.opened.push(...fresh)
  const errors = await Promise.all(fresh.map((one) => new Promise((done) => {
    one.once('connect', () => done(undefined))
    one.once('error', ({ message }) => done(message))
  })))
  return errors.filter((one) => one !== undefined)`

const handlesOf = async (url: string, id: string) =>
  Number(
    new RegExp(`^mortise_module_handles\\{module="${id}"\\} (\\d+)$`, 'm').exec(
      await (await fetch(`${url}/metrics`)).text(),
    )?.[1],
  )

t.test('a module has so many open connections, and no more', async (t) => {
  const directory = await applicationFolder(t, { host: { maxSocketsPerModule: 20 } })
  const { url } = await withModules(t, directory, onRequest('opens', opens(15)))
  const get = async (headers = {}) => await (await fetch(`${url}/opens`, { headers })).json()
  t.same(await get(), [])
  t.equal(await handlesOf(url, 'opens'), 15)
  const refused = 'it has 20 open connections, the most of one module'
  t.same(await get(), Array(10).fill(refused))
  t.same(await get(), Array(15).fill(refused))
  t.equal(await handlesOf(url, 'opens'), 20)
  t.equal(await handlesOf(url, 'good'), 0)
  await get({ close: '1' })
  while ((await handlesOf(url, 'opens')) !== 0);
  t.same(await get(), [], 'closed ones count no longer')
})

t.test('a module that opens 50,000 connections leaves the others what they need', async (t) => {
  const directory = await applicationFolder(t)
  const many = `const net = await import('node:net')
    for (let count = 0; count < 50_000; count += 1) net.connect(9, '192.0.2.1')
    return {}`
  const { url } = await withModules(t, directory, onRequest('opens', many))
  t.equal(await statusOf(`${url}/opens`), 500, 'the loop ends')
  t.equal(await statusOf(`${url}/health/live`), 200)
  t.equal(await statusOf(`${url}/good`), 200)
  while ((await stateOf(directory, 'opens'))?.state !== 'failed') await new Promise(setImmediate)
  t.match(await stateOf(directory, 'opens'), {
    reason: /^an error had no listener: it has 1000 open connections, the most of one module$/,
  })
  t.equal(await statusOf(`${url}/good`), 200)
})
