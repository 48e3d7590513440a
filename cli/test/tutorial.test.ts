import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { door, type Running, startApp } from './run-process.ts'

// What an author does by docs/tutorial.md and docs/writing-a-module.md, whose home is a folder: every line is run,
// every edit is made.

const docs = new URL('../../docs/', import.meta.url)

type Step =
  | { readonly lines: readonly string[] }
  | { readonly file: string; readonly below: string; readonly code: string }
  | { readonly file: string; readonly from: string; readonly to: string }

/** The blocks of the page in their order; each one that is not for the shell says where it goes. */
function stepsOf(markdown: string): Step[] {
  const shell = String.raw`\`\`\`sh\n(?<lines>[\s\S]*?)\`\`\``
  const insertion = String.raw`In \`(?<file>[^\`]+)\`, below\s+\`(?<below>[^\`]+)\`:\n\n\`\`\`(?:ts|js)\n(?<code>[\s\S]*?)\`\`\``
  const replacement = String.raw`In \`(?<path>[^\`]+)\`, replace\s+\`(?<from>[^\`]+)\` with\s+\`(?<to>[^\`]+)\``
  const found = markdown.matchAll(new RegExp(`${shell}|${insertion}|${replacement}`, 'g'))
  return Array.from(found, ({ groups }) => {
    const { lines, file, below, code, path, from, to } = groups as Record<string, string>
    if (lines !== undefined) return { lines: lines.trim().split('\n') }
    return (code === undefined ? { file: path, from, to } : { file, below, code }) as Step
  })
}

/** Makes the edit of a step. */
async function edit(folder: string, step: Exclude<Step, { lines: unknown }>): Promise<void> {
  const path = join(folder, step.file)
  const before = await readFile(path, 'utf8')
  const line = before.split('\n').find((line) => 'below' in step && line.includes(step.below))
  const after =
    'below' in step
      ? before.replace(`${line}\n`, (found) => found + step.code)
      : before.replace(step.from, step.to)
  if (after === before) throw new Error(`${step.file} has no place for the edit`)
  await writeFile(path, after)
}

async function author(t: Test) {
  const home = await realpath(t.testdir({}))
  const bin = join(home, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'app'), `#!/bin/sh\nexec "${process.execPath}" "${door}" "$@"\n`)
  await chmod(join(bin, 'app'), 0o755)
  const env = {
    ...process.env,
    PATH: [bin, process.env.PATH].join(delimiter),
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_userconfig: join(home, 'no.npmrc'),
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_fetch_retries: '0',
    APP_LOG_LEVEL: 'silent',
  }
  let here = home
  let host: Running | undefined
  const said: string[] = []

  async function serve(...argv: string[]): Promise<void> {
    await stop()
    host = startApp(t, [...argv, '--port', '0'])
    await host.says(/Serving +(\S+)\n/)
  }
  async function stop(): Promise<void> {
    host?.child.kill('SIGINT')
    t.equal((await host?.ended) ?? 0, 0)
  }
  const url = () => /Serving +(\S+)\n/.exec(host?.stdout ?? '')?.[1] ?? ''

  /** What needs a registry, or keeps its terminal. `stranger.test.ts` installs from a registry. */
  const instead: Record<string, () => Promise<void>> = {
    'npm create mortise@latest shop': async () => await shell('app init shop'),
    // The folder is below the checkout, whose dependencies npm would install.
    'npm install': async () => {},
    'npx app dev': async () => await serve('dev', here),
    'npm start': async () => await serve('start', '--dir', here),
    'npm publish --access public': async () =>
      await shell('npm publish --access public --dry-run --ignore-scripts'),
    'npx app module-install @acme/wishlist': async () => {},
    'app start --dir ../shop': async () => await serve('start', '--dir', resolve(here, '../shop')),
    // Their own tests run them.
    'app module-check': async () => {},
    'app dev': async () => {},
  }
  async function shell(line: string): Promise<void> {
    const child = spawn('sh', ['-ec', line], { cwd: here, env })
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    if (code !== 0) throw new Error(`${line}\n${stdout}${stderr}`)
    said.push(stdout)
  }
  /** Runs a block: `cd` and what stands for a line stay, the rest is one script, since it sets variables. */
  async function follow(lines: readonly string[]): Promise<void> {
    const rest: string[] = []
    for (const line of lines) {
      if (line.startsWith('cd ')) here = resolve(here, line.slice(3))
      else if (instead[line]) await instead[line]()
      else if (line.startsWith('curl') || /^[A-Z]+=/.test(line))
        rest.push(line.replaceAll('curl ', 'curl -s -f '))
      else await shell(line.replace(/^npx /, ''))
    }
    const script = rest.join('\n').replaceAll(/(http:\/\/127\.0\.0\.1|localhost):3000/g, url())
    if (script !== '') await shell(script)
  }
  const go = (folder: string) => {
    here = folder
  }
  return { home, said, follow, stop, go }
}

t.test('the tutorial leads from an empty folder to a published module', async (t) => {
  const { home, said, follow, stop } = await author(t)
  const page = await readFile(new URL('tutorial.md', docs), 'utf8')
  const steps = stepsOf(page)
  const blocks = page.match(/^```\w/gm)?.length
  t.equal(steps.filter((step) => !('from' in step)).length, blocks, 'every block is a step')
  for (const step of steps) {
    if ('lines' in step) await follow(step.lines)
    else await edit(join(home, 'wishlist'), step)
  }
  await stop()
  const created = said.filter((text) => text.startsWith('HTTP/1.1 201 '))
  t.equal(created.length, 2)
  for (const response of created) t.match(response, /^guest-token: /im)
  t.ok(said.some((text) => text.startsWith('{"data":[]')))
  t.ok(said.some((text) => /^(ok|✔|#).*a caller wishes for something once/m.test(text)))
})

t.test('writing-a-module.md: the shortest module is tested, packed, installed and called', async (t) => {
  const { home, said, follow, stop, go } = await author(t)
  await cp(fileURLToPath(new URL('examples/task', docs)), join(home, 'task'), { recursive: true })
  go(join(home, 'task'))
  const page = await readFile(new URL('writing-a-module.md', docs), 'utf8')
  const lines = stepsOf(page).flatMap((step) => ('lines' in step ? step.lines : []))
  // The folder is below the checkout, whose dependencies are those that the page installs.
  await follow(lines.filter((line) => !/^(mkdir|cd ~|npm install|npm pack --)/.test(line)))
  await stop()
  t.ok(said.some((text) => /pass [12]$/m.test(text)))
  t.match(said.at(-1), /^HTTP\/1.1 201 [\s\S]*"text":"buy milk"\}\{"data":\[\]\}/)
})
