// Serves an application with all modules, and has everything try its document, and its tools; one line per check.
import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import SwaggerParser from '@apidevtools/swagger-parser'
import { runCollection } from './run-collection.js'
import { serveApplication } from './serve-application.js'

const here = import.meta.dirname
const folder = await mkdtemp(join(tmpdir(), 'mortise-clients-'))
const file = join(folder, 'openapi.json')
const mcpScenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'server-sse-polling',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
]
let failed = false

await symlink(join(here, 'node_modules'), join(folder, 'node_modules'), 'junction')
await cp(join(here, 'uses'), folder, { recursive: true })
const application = await serveApplication(join(folder, 'application'))
try {
  const response = await fetch(`${application.url}/openapi.json`)
  await writeFile(file, await response.text())

  await check('swagger-parser validates the document', () => SwaggerParser.validate(file))
  await check('Redocly finds no error and no warning', () => run('redocly', 'lint', file, '--format=stylish'))
  await check('Spectral finds no error and no warning', () =>
    run('spectral', 'lint', file, '--fail-severity=hint', '--quiet'),
  )
  await check('openapi-typescript generates', () =>
    run('openapi-typescript', file, '-o', join(folder, 'openapi-typescript.gen.ts')),
  )
  await check('@hey-api/openapi-ts generates', () =>
    run('openapi-ts', '-i', file, '-o', join(folder, 'hey-api'), '--no-log-file'),
  )
  await check('orval generates', () =>
    run('orval', '--input', file, '--output', join(folder, 'orval.gen.ts'), '--client', 'fetch'),
  )
  await check('the clients compile under --strict', () => compile('uses.ts', { strict: true }))
  // The code that hey-api puts beside its types does not: it passes undefined to what may be absent alone.
  await check('and under exactOptionalPropertyTypes, of hey-api the types', () =>
    compile('uses-exact.ts', { strict: true, exactOptionalPropertyTypes: true }),
  )
  // The other scenarios call tools, prompts and resources of a sample server, which no API has.
  for (const scenario of mcpScenarios)
    await check(`the conformance suite of MCP passes: ${scenario}`, () =>
      run('conformance', 'server', '--url', `${application.url}/mcp`, '--scenario', scenario, '-o', folder),
    )
  await check('newman runs the collection that Postman makes of it', () =>
    runCollection(file, application.url, application.token),
  )
} finally {
  await application.stop()
  await rm(folder, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

async function check(name, attempt) {
  const begun = performance.now()
  try {
    const said = await attempt()
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    console.log(`ok      ${name}${typeof said === 'string' ? `: ${said}` : ''} (${seconds} s)`)
  } catch (error) {
    failed = true
    console.log(`failed  ${name}\n${error.message}`)
  }
}

/** Runs a command of this folder's packages. @throws {Error} with what it says, where it fails */
async function run(name, ...args) {
  const child = spawn(join(here, 'node_modules', '.bin', name), args, {
    cwd: here,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(out + errors)
}

async function compile(name, options) {
  const project = join(folder, `tsconfig.${name}.json`)
  const environment = {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    skipLibCheck: true,
  }
  const modules = { module: 'esnext', moduleResolution: 'bundler', allowImportingTsExtensions: true }
  const compilerOptions = { ...environment, ...modules, noEmit: true, ...options }
  await writeFile(project, JSON.stringify({ files: [name], compilerOptions }))
  await run('tsc', '--project', project)
}
