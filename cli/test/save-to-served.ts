import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkout } from './operating-page.ts'
import { door } from './run-process.ts'

// Measures `app dev` on a module of `app module-new`: how long after the save of a file the new code responds, over 20
// saves. node cli/test/save-to-served.ts [--js]

const SAVES = 20

const language = process.argv.slice(2)
const parent = await mkdtemp(join(tmpdir(), 'save-to-served-'))
execFileSync(process.execPath, [door, 'module-new', 'memo', '--dir', parent, ...language])
const folder = join(parent, 'memo')
await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'))
const file = join(folder, 'src', language.includes('--js') ? 'service.js' : 'service.ts')
const source = await readFile(file, 'utf8')
const env = { ...process.env, APP_RATE_LIMIT_MAX: '0' }
const argv = [door, 'dev', folder, '--port', '0', '--json']
const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'ignore'], env })
try {
  let output = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    output += piece
    if (output.endsWith('}\n')) break
  }
  const { url } = JSON.parse(output)
  const respond = async () => await (await fetch(`${url}/memo/unknown`)).text()
  const times: number[] = []
  for (let save = 1; save <= SAVES; save += 1) {
    await setTimeout(300)
    const began = performance.now()
    await writeFile(file, source.replace('You have no', `Save ${save}: you have no`))
    while (!(await respond()).includes(`Save ${save}:`)) await setTimeout(5)
    times.push(performance.now() - began)
  }
  times.sort((one, other) => one - other)
  const [median, worst] = [times[SAVES / 2] as number, times.at(-1) as number]
  console.log(`${SAVES} saves: median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms`)
} finally {
  child.kill('SIGINT')
  await new Promise((closed) => child.once('close', closed))
  await rm(parent, { recursive: true, force: true })
}
