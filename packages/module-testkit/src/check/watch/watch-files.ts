import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { phase } from './seen.ts'

/** In each path that a check sends to see where it arrives. */
const SENT = 'zq-file'
const READS = [
  'open',
  'readFile',
  'stat',
  'lstat',
  'access',
  'readdir',
  'createReadStream',
  'opendir',
  'exists',
]
const WRITES = ['writeFile', 'appendFile', 'mkdir', 'rm', 'unlink', 'copyFile', 'rename', 'createWriteStream']

type Note = (what: 'file', name: string) => void

/** Notes each file that is opened outside of where it should be, and each write in a transaction. */
export function watchFiles(note: Note): void {
  for (const target of [fs, fs.promises] as unknown as Record<string, unknown>[]) {
    for (const name of [...READS, ...WRITES].flatMap((one) => [one, `${one}Sync`])) {
      const original = target[name]
      if (typeof original !== 'function') continue
      target[name] = function (this: unknown, ...given: unknown[]) {
        look(String(name), given[0])
        return Reflect.apply(original, this, given)
      }
    }
  }
  syncBuiltinESMExports()

  function look(name: string, given: unknown): void {
    if (typeof given !== 'string' && !(given instanceof URL)) return
    const isWrite = WRITES.includes(name.replace(/Sync$/, ''))
    if (isWrite && phase() === 'a transaction') note('file', `in a transaction ${String(given)}`)
    if (!String(given).includes(SENT)) return
    const path = given instanceof URL ? fileURLToPath(given) : resolve(given)
    if (dirname(path) === '/') note('file', path)
  }
}
