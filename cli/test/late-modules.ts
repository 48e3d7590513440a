import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { endlessLoop, sampleTarball, sleep } from '../../packages/installer/test/sample-module.ts'
import { copiesOf, type TestApplication } from './run-app.ts'
import { startApp } from './run-process.ts'

const route = (more: string) => `
  app.get('/hello', { config: { access: 'public' } }, async (request) => {
    ${more}
    return { version: '2.0.0' }
  })`

const later = (code: string) => `${route('')}
  if (process.env.MORTISE_TEST_LATE) setTimeout(() => { ${code} }, 1000).unref()`

/** Versions of one module; each passes the probe and serves, and does something wrong afterwards. */
const plugins = {
  rejects: later("Promise.reject(new Error('late'))"),
  throws: later("throw new Error('late')"),
  connects: later("process.getBuiltinModule('node:net').connect(1, '127.0.0.1')"),
  blocks: later(`const end = Date.now() + 7000; while (Date.now() < end) ${sleep}`),
  hangs: later(endlessLoop),
  fails: route(`if (request.headers.fail) throw new Error('on demand')`),
  sound: route(`if (request.headers.reject) Promise.reject(new Error('much later'))`),
}

const copies = copiesOf(async ({ root, run }) => {
  const { exitCode, stdout } = await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'hello-1.tgz')),
  )
  if (exitCode !== 0) throw new Error(stdout)
  for (const [at, [name, plugin]] of Object.entries(plugins).entries())
    await sampleTarball(join(root, `${name}.tgz`), { version: `2.0.${at}`, plugin })
})

/** An application that has version 1.0.0 of the module, and the tarballs of the others beside it. */
export function withLateModules(t: Test): Promise<TestApplication> {
  // In the host alone: the probe has an empty environment.
  process.env.MORTISE_TEST_LATE = '1'
  return copies(t)
}

/**
 * Copies of an application with `hello`, whose `GET /hello` runs the code that the header `with` names, and
 * with `other`, which does nothing.
 * @param declared code before the route
 */
export const copiesWithHarm = (codes: Readonly<Record<string, string>>, declared = '') =>
  copiesOf(async ({ root, run }) => {
    const branches = Object.entries(codes).map(
      ([name, code]) => `if (request.headers.with === '${name}') { ${code} }`,
    )
    const plugin = `${declared}app.get('/hello', { config: { access: 'public' } }, async (request) => {
    ${branches.join('\n')}
    return { version: '1.0.0' }
  })`
    for (const [id, more] of [
      ['hello', { plugin }],
      ['other', {}],
    ] as const) {
      const file = await sampleTarball(join(root, `${id}.tgz`), { id, ...more })
      const { exitCode, stdout } = await run('module-install', '--yes', file)
      if (exitCode !== 0) throw new Error(stdout)
    }
  })

/** Runs the host as a process of its own: it minds what modules do outside of requests. */
export async function started(
  t: Test,
  { directory }: TestApplication,
  options: readonly string[] = [],
  more: readonly string[] = ['--no-supervisor'],
) {
  const running = startApp(t, ['start', ...more, '--port', '0', '--dir', directory], options)
  await running.says(/Serving (\S+)/)
  const [, url = ''] = /Serving (\S+)/.exec(running.stdout) ?? []
  return Object.assign(running, {
    url,
    hello: async () => (await (await fetch(`${url}/hello`)).json()) as { version: string },
  })
}

/** Waits until `what` is so, for a minute at most. */
export async function until(what: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await what()); await pause(50)) {
    if (Date.now() > deadline) throw new Error('it did not come to pass')
  }
}
