// `npm run packages`: what would be published, and what an installation of the command consists of.
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packAll, root } from './pack.js'

const folder = mkdtempSync(join(tmpdir(), 'mortise-packages-'))
try {
  const rows = packAll(folder).map(({ name, version, size, unpackedSize, entryCount }) => [
    `${name}@${version}`,
    { tarball: kilobytes(size), unpacked: kilobytes(unpackedSize), files: entryCount },
  ])
  console.table(Object.fromEntries(rows))
} finally {
  rmSync(folder, { recursive: true })
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const all = installation()
const bytes = new Map([...all].map((place) => [place, sizeOf(place)]))
console.log(`@mortise/cli with all it needs at run time: ${all.size} packages, ${megabytes(all)} MB.`)
console.log('What would go without each of the direct dependencies:')
const direct = new Set(
  [...all].filter((place) => packages[place].link).flatMap((place) => Object.keys(wants(place))),
)
const without = [...direct]
  .filter((name) => !packages[`node_modules/${name}`]?.link)
  .map((name) => {
    const gone = all.difference(installation((from, wanted) => packages[from].link && wanted === name))
    return [name, { packages: gone.size, MB: megabytes(gone) }]
  })
console.table(
  Object.fromEntries(without.filter(([, { packages }]) => packages > 0).sort((a, b) => b[1].MB - a[1].MB)),
)

/** The places in node_modules that the command needs, except through what `leaves` says. */
function installation(leaves = () => false) {
  const found = new Set()
  const open = ['node_modules/@mortise/cli']
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue
    found.add(place)
    for (const name of Object.keys(wants(place))) {
      const wanted = leaves(place, name) ? undefined : find(place, name)
      if (wanted !== undefined) open.push(wanted)
    }
  }
  return found
}

function wants(place) {
  const {
    dependencies,
    optionalDependencies,
    peerDependencies,
    peerDependenciesMeta = {},
  } = description(place)
  const peers = Object.entries(peerDependencies ?? {}).filter(
    ([name]) => !peerDependenciesMeta[name]?.optional,
  )
  return { ...dependencies, ...optionalDependencies, ...Object.fromEntries(peers) }
}

function description(place) {
  const { link, resolved } = packages[place]
  return link ? packages[resolved] : packages[place]
}

/** Where Node finds `name` from `place`; undefined for what is not installed on this platform. */
function find(place, name) {
  const { link, resolved } = packages[place]
  let folder = link ? resolved : place
  for (;;) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[candidate]) return candidate
    if (folder === '') return undefined
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
  }
}

function sizeOf(place) {
  const { link, resolved } = packages[place]
  const names = link ? (packages[resolved].files ?? ['dist', 'src', 'bin.js', 'migrations']) : undefined
  return names
    ? names.reduce((sum, name) => sum + bytesIn(join(root, resolved, name)), 0)
    : bytesIn(join(root, place))
}

function bytesIn(path) {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found?.isDirectory()) return found?.size ?? 0
  const names = readdirSync(path).filter((name) => name !== 'node_modules')
  return names.reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}

function kilobytes(size) {
  return `${(size / 1000).toFixed(0)} kB`
}

function megabytes(places) {
  const sum = [...places].reduce((total, place) => total + bytes.get(place), 0)
  return Number((sum / 1e6).toFixed(1))
}
