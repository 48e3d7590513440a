import { moduleJson, writeFiles } from '../../harness/write-files.ts'

/** What a module does to its host, as code of a route. It keeps what it allocates. */
export const cases = {
  'endless loop': 'for (;;);',
  'loop of promises': 'const again = () => Promise.resolve().then(again); again()',
  'loop of ticks': 'const again = () => process.nextTick(again); again()',
  'block of 20 s': 'for (const end = Date.now() + 20_000; Date.now() < end; );',
  'regular expression': "/^(a+)+$/.test('a'.repeat(60) + 'b')",
  // Not Array(n).fill: V8 does not interrupt a loop that calls only built-in functions.
  heap: 'for (;;) kept.push(Array.from({ length: 1_000 }, (_, index) => index + 0.5))',
  'heap by timer':
    'setInterval(() => { for (let count = 0; count < 250; count += 1) kept.push(Array(1_000).fill(kept.length + 0.5)) }, 20)',
  'heap by requests': `
    const held = []
    for (let count = 0; count < 20; count += 1) held.push(Array(100_000).fill(kept.length + count + 0.5))
    kept.push(held)`,
  sockets: 'for (let count = 0; count < 50_000; count += 1) net.connect(9, "192.0.2.1")',
  'socket error': 'net.connect(1, "127.0.0.1")',
  'error in a timer': "setTimeout(() => { throw new Error('late') }, 10)",
  rejection: "Promise.reject(new Error('alone'))",
  'process.exit': 'process.exit(3)',
  'process.exit in a timer': 'setTimeout(() => process.exit(3), 10)',
} as const

export type Case = keyof typeof cases

/** Those that do harm some time after a request, or after several. */
export const growing: readonly Case[] = ['heap by timer', 'heap by requests']

/** `GET /bad` does what the header `case` names. @returns the folder of the package */
export function writeBadModule(folder: string): Promise<string> {
  return writeFiles(folder, {
    'package.json': moduleJson('bad', '1.0.0', { routes: ['GET /bad'] }),
    'dist/index.js': `
import net from 'node:net'
import { defineModule } from '@mortise/module-sdk'
const kept = []
const cases = {${Object.entries(cases)
      .map(([name, code]) => `\n  ${JSON.stringify(name)}: async () => { ${code} },`)
      .join('')}
}
export default defineModule('bad').plugin(async (app) => {
  app.get('/bad', { config: { access: 'public' } }, async (request) => {
    await cases[request.headers.case]?.()
    return {}
  })
})
`,
  })
}
