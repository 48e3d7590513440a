#!/usr/bin/env node
// `npm create mortise@latest shop`: makes a folder whose package.json has the command as a dependency, installs it, and
// lets the command do the rest. So this has no dependencies, and nothing is downloaded twice.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const usage = `Usage: npm create mortise@latest <folder> [-- --modules <names>]

Makes a Mortise application in a new or empty folder.

  --modules <names>  modules to install, comma-separated: api-cart,api-purchase

Example: npm create mortise@latest shop -- --modules api-cart,api-purchase`

const { version, engines } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
const template = join(import.meta.dirname, 'template')

/** The bare names that the command knows. Any other module has a full name: @acme/api-review, npm:api-review. */
const bareNames = ['api-cart', 'api-purchase', 'api-event']

checkNode()
const { folder, modules } = readArguments()
checkModules()
const isNew = !existsSync(folder)
// A signal ends the program that runs; this then removes the folder.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
makeFolder()
// npm's cache is asked first: npm looks again if it lacks the version.
run('npm install', 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'])
const command = join(folder, 'node_modules', '@mortise', 'cli', 'bin.js')
run('app init', process.execPath, [command, 'init'], 'ignore')
if (modules.length > 0) run('app module-install', process.execPath, [command, 'module-install', ...modules])

const here = relative(process.cwd(), folder)
const steps = [
  ...(here === '' ? [] : [`cd ${here}`]),
  ...(modules.length > 0 ? [] : ['npx app module-install api-cart']),
]
console.log(
  `\nThe application is in ${folder}. Next:\n${[...steps, 'npm start'].map((step) => `  ${step}`).join('\n')}`,
)

function readArguments() {
  const options = { modules: { type: 'string', default: '' }, help: { type: 'boolean' } }
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (values.help) end(0, usage)
    if (positionals.length !== 1) end(2, usage)
    return {
      folder: resolve(positionals[0]),
      modules: values.modules.split(',').filter((name) => name !== ''),
    }
  } catch (error) {
    end(2, `${error.message}\n\n${usage}`)
  }
}

/** Before anything is downloaded. */
function checkNode() {
  const [major, minor, patch] = process.versions.node.split('.').map(Number)
  const runs =
    major >= 26 ||
    (major === 24 && minor >= 15) ||
    (major === 22 && (minor > 22 || (minor === 22 && patch >= 2)))
  if (!runs)
    end(2, `Mortise needs Node ${engines.node}, and this is ${process.versions.node}. Install a newer Node.`)
}

function checkModules() {
  const unknown = modules.find((name) => /^[\w-]+$/.test(name) && !bareNames.includes(name))
  if (unknown === undefined) return
  const known = bareNames.join(', ')
  end(
    3,
    `Unknown module "${unknown}". The known names are ${known}. For a package on npm, write npm:${unknown}.`,
  )
}

/** A folder with a repository and nothing else counts as empty. */
function makeFolder() {
  const present = existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.git') : []
  if (present.length > 0) end(2, `${folder} is not empty: it has ${present[0]}. Name a new folder.`)
  mkdirSync(folder, { recursive: true })
  // A signal to npm reaches the shell that it starts: without `exec`, the host would stay.
  const start = process.platform === 'win32' ? 'app start' : 'exec app start'
  const description = {
    name:
      basename(folder)
        .toLowerCase()
        .replace(/[^a-z0-9-]+/g, '-')
        .replace(/^-+|-+$/g, '') || 'application',
    private: true,
    engines,
    scripts: { start },
    dependencies: { '@mortise/cli': `^${version}` },
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(description, null, 2)}\n`)
  // npm leaves a .gitignore and an .npmrc out of what it packs.
  writeFileSync(join(folder, '.gitignore'), 'node_modules/\n.app/\ndata/\n')
  // No package of the command has a script to run. After a plain "npm ci", npm would try to compile SQLite.
  writeFileSync(join(folder, '.npmrc'), 'ignore-scripts=true\n')
  for (const name of readdirSync(template)) copyFileSync(join(template, name), join(folder, name))
}

function run(what, program, args, stdout = 'inherit') {
  const { status, error } = spawnSync(program, args, {
    cwd: folder,
    stdio: ['inherit', stdout, 'inherit'],
    shell: program === 'npm' && process.platform === 'win32',
  })
  if (status === 0) return
  const reason = error ? ` (${error.message})` : ''
  removeFolder()
  end(status || 1, `"${what}" failed${reason}. ${folder} is as it was before. Try again.`)
}

/** What this has made; a repository that was there stays. */
function removeFolder() {
  const made = isNew
    ? [folder]
    : readdirSync(folder)
        .filter((name) => name !== '.git')
        .map((name) => join(folder, name))
  for (const path of made) rmSync(path, { recursive: true, force: true })
}

function end(code, text) {
  console[code === 0 ? 'log' : 'error'](text)
  process.exit(code)
}
