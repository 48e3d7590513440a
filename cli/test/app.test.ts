import { readFile } from 'node:fs/promises'
import { exitCodes } from '@mortise/installer/failures'
import t from 'tap'
import { commands } from '../src/commands/index.ts'
import { runApp } from './run-app.ts'

for (const { name, summary, load } of commands) {
  t.test(`${name}: --help shows the purpose, the options and an example`, async (t) => {
    const { exitCode, stdout, stderr } = await runApp(name, '--help')
    t.equal(exitCode, 0)
    t.equal(stderr, '')
    t.match(stdout.replace(/\s+/g, ' '), summary.replace(/\s+/g, ' '))
    for (const option of ['--json', '--dir <dir>', '--help']) t.match(stdout, option)
    const { examples } = await load()
    t.ok(examples.length > 0)
    for (const example of examples) {
      t.match(stdout, example)
      t.match(example, new RegExp(`^app ${name}\\b`))
    }
  })

  t.test(`${name}: --help --json prints one JSON document`, async (t) => {
    const { exitCode, json } = await runApp(name, '--help', '--json')
    t.equal(exitCode, 0)
    t.match(json.text, /Usage: app/)
  })

  t.test(`${name}: an unknown option is wrong usage`, async (t) => {
    const { exitCode, json, stderr } = await runApp(name, '--no-such-option', '--json')
    t.equal(exitCode, 2)
    t.match(json, { error: { code: 'usage', exitCode: 2, message: /no-such-option/, hint: /--help/ } })
    t.equal(stderr, '')
  })

  if (['init', 'module-manifest', 'module-check', 'module-new'].includes(name)) continue
  t.test(`${name}: a folder without an application is wrong usage`, async (t) => {
    const { exitCode, json } = await runApp(name, 'x', 'y', '--dir', t.testdir({}), '--json')
    t.equal(exitCode, 2)
    t.match(json.error, { exitCode: 2, hint: String, message: String })
  })
}

t.test('app --help lists every command', async (t) => {
  const { exitCode, stdout } = await runApp('--help')
  t.equal(exitCode, 0)
  for (const { name } of commands) t.match(stdout, new RegExp(`^ +${name}\\b`, 'm'))
})

t.test('app help explains how to get help for one command', async (t) => {
  const { exitCode, stdout } = await runApp('help', 'token')
  t.equal(exitCode, 0)
  t.match(stdout, /--expires/)
})

for (const { name, alias } of commands.filter((command) => command.alias)) {
  t.test(`${alias}: short for ${name}`, async (t) => {
    const short = await runApp(alias as string, '-h')
    t.equal(short.exitCode, 0)
    t.equal(short.stdout, (await runApp(name, '--help')).stdout)
    t.match(short.stdout, `app ${name}|${alias} `)
    t.match((await runApp('-h')).stdout, `  ${name}|${alias} `)
    t.equal((await runApp('help', alias as string)).stdout, short.stdout)
  })
}

t.test('app -v and --version print the version of the package', async (t) => {
  for (const option of ['-v', '--version']) {
    const { exitCode, stdout } = await runApp(option)
    t.equal(exitCode, 0)
    t.match(stdout, /^\d+\.\d+\.\d+\n$/)
  }
})

t.test('a missing command is wrong usage', async (t) => {
  const { exitCode, stdout, stderr } = await runApp()
  t.equal(exitCode, 2)
  t.equal(stdout, '')
  t.match(stderr, /--help/)
  t.match((await runApp('--json')).json.error, { exitCode: 2 })
})

t.test('an unknown command is wrong usage, and the message suggests the nearest one', async (t) => {
  const calls = [
    ['module-instal', 'api-cart'],
    ['module-instal', '--help'],
    ['--dir', '.', 'module-instal', '--help'],
    ['help', 'module-instal'],
  ]
  for (const call of calls) {
    const { exitCode, json } = await runApp(...call, '--json')
    t.equal(exitCode, 2, call.join(' '))
    t.match(json.error.message, /module-install/)
  }
  t.equal((await runApp('help')).exitCode, 0)
})

t.test('without an application the message says so, with a hint', async (t) => {
  const { exitCode, stdout, stderr } = await runApp('module-list', '--dir', t.testdir({}))
  t.equal(exitCode, 2)
  t.equal(stdout, '')
  t.match(stderr, /app\.config\.json/)
  t.match(stderr, /app init/)
  t.notMatch(stderr, /\n\s+at /)
})

t.test('--verbose adds the stack trace of a failure', async (t) => {
  const { stderr } = await runApp('module-list', '--verbose', '--dir', t.testdir({}))
  t.match(stderr, /\n\s+at /)
})

t.test('the README names every command and every exit code', async (t) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const named = [...readme.matchAll(/^\| `app ([a-z-]+)/gm)].map(([, name]) => name)
  t.strictSame(named.sort(), commands.map(({ name }) => name).sort())
  const codes = [...readme.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))
  t.strictSame(codes, [0, ...Object.values(exitCodes)])
})

t.test('app help help works', async (t) => {
  const { exitCode, stdout } = await runApp('help', 'help')
  t.equal(exitCode, 0)
  t.equal(stdout, (await runApp('help')).stdout)
})
