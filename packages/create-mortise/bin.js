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

const usage = `Usage: npm create mortise@latest <folder> [-- --modules <names> [--yes]]

Makes a Mortise application in a new or empty folder.

  --modules <names>  modules to install, comma-separated: api-cart,api-purchase
  --yes              trust the sources of other authors' modules; without a terminal they need it

Example: npm create mortise@latest shop -- --modules api-cart,api-purchase`

const {
  version,
  engines,
  modules: known,
} = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
const template = join(import.meta.dirname, 'template')

const { folder, modules, yes } = readArguments()
if (!isSupported(process.versions.node))
  end(
    2,
    `Node ${process.versions.node} is too old. Mortise needs ${engines.node}: install one, then try again.`,
  )
const unknown = modules.find((name) => isShort(name) && !known.includes(name.split('@')[0]))
if (unknown !== undefined)
  end(
    3,
    `Unknown module "${unknown}". Mortise has ${known.join(', ')}. For a package on the npm registry, write npm:${unknown}.`,
  )
// On a signal the child ends too: its folder is removed then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
const wasThere = existsSync(folder)
makeFolder()
run('npm install', 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'])
const command = join(folder, 'node_modules', '@mortise', 'cli', 'bin.js')
run('app init', process.execPath, [command, 'init'], 'ignore')
if (modules.length > 0)
  run('app module-install', process.execPath, [command, 'module-install', ...yes, ...modules])

const here = relative(process.cwd(), folder)
const steps = [
  ...(here === '' ? [] : [`cd ${here}`]),
  ...(modules.length > 0 ? [] : ['npx app module-install api-cart']),
]
console.log(
  `\nThe application is in ${folder}. Next:\n${[...steps, 'npm start'].map((step) => `  ${step}`).join('\n')}`,
)

function readArguments() {
  const options = {
    modules: { type: 'string', default: '' },
    yes: { type: 'boolean' },
    help: { type: 'boolean' },
  }
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (values.help) end(0, usage)
    if (positionals.length !== 1) end(2, usage)
    return {
      folder: resolve(positionals[0]),
      modules: values.modules.split(',').filter((name) => name !== ''),
      yes: values.yes ? ['--yes'] : [],
    }
  } catch (error) {
    end(2, `${error.message}\n\n${usage}`)
  }
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

/** Leaves what was there before: nothing, or the folder with its repository. */
function removeFolder() {
  if (!wasThere) return rmSync(folder, { recursive: true, force: true })
  for (const name of readdirSync(folder).filter((name) => name !== '.git'))
    rmSync(join(folder, name), { recursive: true, force: true })
}

/** A bare name, which stands for a module of Mortise; anything else says where it comes from. */
function isShort(name) {
  return /^[\w-]+(@[^/:]*)?$/.test(name)
}

/** Whether the engines of this package have the version: `^22.22.2 || ^24.15 || >=26`. */
function isSupported(node) {
  const numbers = (text) => text.split('.').map(Number)
  const [major, minor, patch] = numbers(node)
  return engines.node.split(' || ').some((range) => {
    const [least, leastMinor = 0, leastPatch = 0] = numbers(range.replace(/^\D+/, ''))
    if (major !== least) return range.startsWith('>=') && major > least
    return minor > leastMinor || (minor === leastMinor && patch >= leastPatch)
  })
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
  end(status || 1, `"${what}" failed${reason}. ${folder} is as before. Correct that, then try again.`)
}

function end(code, text) {
  console[code === 0 ? 'log' : 'error'](text)
  process.exit(code)
}
