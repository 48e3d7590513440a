import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { listening } from '../verdaccio.ts'

const advisory = {
  title: 'Prototype pollution in word',
  url: 'https://example.org/advisories/1',
  severity: 'high',
  vulnerable_versions: '<1.2.0',
}

/** A registry that knows one vulnerability of `word`. @returns what it was asked for */
async function advising(t: Test, packages: string) {
  const asked: Record<string, readonly string[]>[] = []
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') {
      const reply = await fetch(new URL(request.url ?? '', packages))
      return response.writeHead(reply.status).end(await reply.text())
    }
    asked.push(JSON.parse(gunzipSync(await buffer(request)).toString('utf8')))
    response.end(JSON.stringify({ word: [advisory, { ...advisory, vulnerable_versions: '<1.0.0' }] }))
  })
  return { registry: `http://${await listening(t, server)}/`, asked }
}

async function installed(t: Test) {
  const application = await testApplication(t)
  const { 'package.json': json, ...files } = sampleFiles({ json: { dependencies: { word: '~1.0.0' } } })
  const words = ['1.0.0', '1.1.0', '1.2.0', '2.0.0'].map((version) => published({ name: 'word', version }))
  const { registry } = await fakeRegistry(t, [published(JSON.parse(json as string), files), ...words])
  process.env.npm_config_registry = registry
  const mine = await sampleTarball(join(application.root, 'mine.tgz'), { id: 'mine' })
  t.equal((await application.run('module-install', '--yes', '@acme/hello', mine)).exitCode, 0)
  return { ...application, packages: registry }
}

t.test('doctor names an affected package, what brings it, and the fixed version', async (t) => {
  const { directory, run, packages } = await installed(t)
  const { registry, asked } = await advising(t, packages)
  process.env.npm_config_registry = registry
  const { exitCode, json } = await run('doctor')
  t.equal(exitCode, 1)
  t.match(json, {
    findings: [
      {
        id: 'vulnerable',
        severity: 'warning',
        hint: /app module-upgrade hello/,
        advisory: {
          package: 'word',
          version: '1.0.0',
          severity: 'high',
          fixed: '1.2.0',
          broughtBy: ['hello'],
        },
      },
    ],
    advisories: { unasked: [] },
  })
  t.equal(json.findings.length, 1, 'not one for a range that excludes it')
  t.match(asked, [{ word: ['1.0.0'], '@acme/hello': ['1.0.0'], fastify: [/./] }])
  t.notOk('@acme/mine' in (asked[0] ?? {}), 'what comes from a file is not named to a registry')
  const { stdout } = await runApp('doctor', '--dir', directory)
  t.match(stdout, /word 1\.0\.0 has a known vulnerability \(high\).*It comes with hello\. Fixed in 1\.2\.0\./)
})

t.test('without advisories there is a note, and no finding', async (t) => {
  const { directory, run, packages } = await installed(t)
  await t.test('a registry that has none', async (t) => {
    process.env.npm_config_registry = packages
    t.match(await run('doctor'), {
      exitCode: 0,
      json: { findings: [], advisories: { unasked: [{ registry: packages, reason: /404/ }] } },
    })
    const { stdout } = await runApp('doctor', '--dir', directory)
    t.match(stdout, /^No problems found\.\nKnown vulnerabilities are not checked: .* 404/)
  })
  await t.test('no network', async (t) => {
    process.env.npm_config_registry = 'http://127.0.0.1:1/'
    t.match(await run('doctor'), {
      exitCode: 0,
      json: { advisories: { unasked: [{ reason: /ECONNREFUSED/ }] } },
    })
  })
  await t.test('a response that is none', async (t) => {
    const server = createServer((_, response) => response.end('<html>'))
    process.env.npm_config_registry = `http://${await listening(t, server)}/`
    t.match(await run('doctor'), { exitCode: 0, json: { findings: [], advisories: { unasked: [{}] } } })
  })
  await t.test('a folder of tarballs', async (t) => {
    delete process.env.npm_config_registry
    await writeFile(join(directory, '.npmrc'), 'registry=file:..\n')
    t.match(await run('doctor'), {
      exitCode: 0,
      json: { advisories: { unasked: [{ reason: 'it is a folder' }] } },
    })
  })
})
