import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { door } from './run-process.ts'
import { sampleFolder } from './sample-module.ts'

// Measures `app dev`: how long after the save of a file the new code answers, over 20 saves.
// node cli/test/save-to-served.ts

const SAVES = 20

const main = (text: string) => `import { defineModule } from '@mortise/module-sdk'
export default defineModule('memo').plugin(async (app) => {
  app.get('/memo', { config: { access: 'public' } }, async () => '${text}')
})
`

const folder = await mkdtemp(join(tmpdir(), 'save-to-served-'))
await sampleFolder(folder, { id: 'memo', main: main('0') })
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
  const times: number[] = []
  for (let save = 1; save <= SAVES; save += 1) {
    await setTimeout(300)
    const began = performance.now()
    await writeFile(join(folder, 'index.js'), main(`${save}`))
    while ((await (await fetch(`${url}/memo`)).text()) !== `${save}`) await setTimeout(5)
    times.push(performance.now() - began)
  }
  times.sort((one, other) => one - other)
  const [median, worst] = [times[SAVES / 2] as number, times.at(-1) as number]
  console.log(`${SAVES} saves: median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms`)
} finally {
  child.kill('SIGINT')
  await new Promise((closed) => child.once('close', closed))
  await rm(folder, { recursive: true, force: true })
}
