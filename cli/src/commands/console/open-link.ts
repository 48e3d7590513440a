import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Other users of the machine see the arguments of a process. A file that only its owner reads sends the
// browser to the link instead.

/** How long the file stays, in milliseconds: longer than a browser needs to start. */
const STAYS = 60_000

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a link that is a secret. A machine without a browser has none to open. */
export async function openLink(link: string): Promise<void> {
  // Its mode is 0700.
  const folder = await mkdtemp(join(tmpdir(), 'mortise-console-'))
  const file = join(folder, 'console.html')
  await writeFile(file, pageTo(link), { mode: 0o600, flag: 'wx' })
  const [program, ...words] = openers[process.platform] ?? ['xdg-open']
  run(program, [...words, file])
  const remove = `setTimeout(() => fs.rmSync(process.argv[1], { recursive: true, force: true }), ${STAYS})`
  run(process.execPath, ['-e', remove, folder])
}

function run(program: string, words: readonly string[]): void {
  const child = spawn(program, words, { stdio: 'ignore', detached: true, env: withoutOurs(process.env) })
  child.on('error', () => {})
  child.unref()
}

/** Neither the secret of the application nor a password of its database. */
const withoutOurs = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(APP_|PG)/.test(name)))

const pageTo = (link: string) => `<!doctype html>
<meta charset="utf-8">
<title>Console</title>
<meta http-equiv="refresh" content="0; url=${link.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">
`
