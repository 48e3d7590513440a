import { resolve } from 'node:path'
import type { Operation } from './operation.ts'

/** The system calls that `readTrace` understands. */
export const calls =
  'open,openat,creat,write,writev,pwrite64,pwritev,sendto,truncate,ftruncate,sendfile,copy_file_range,fsync,fdatasync,' +
  'rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir'

/**
 * Reads the output of `strace -f -y -xx`, in the order of return; a response is at the start of its
 * call. It omits SQLite's shared memory (`-shm`), which is rebuilt after a power loss.
 * @param root calls outside this folder are ignored
 * @param start the number of earlier operations
 */
export function readTrace(trace: string, root: string, start = 0): Operation[] {
  const operations: Operation[] = []
  const unfinished = new Map<string, { readonly text: string; readonly begun: number }>()
  const place = () => start + operations.length
  for (const line of trace.split('\n')) {
    const space = line.indexOf(' ')
    const thread = line.slice(0, space)
    let text = line.slice(space).trimStart()
    let begun = place()
    if (text.endsWith('<unfinished ...>')) {
      text = text.slice(0, -'<unfinished ...>'.length).trimEnd()
      const response = responseOf(text)
      if (response) operations.push(response)
      unfinished.set(thread, { text, begun })
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(text)
    if (resumed) {
      const first = unfinished.get(thread)
      if (first === undefined) continue
      text = first.text + text.slice(resumed[0].length)
      begun = first.begun
    }
    const operation = (resumed ? undefined : responseOf(text)) ?? operationOf(text, begun)
    if (operation && (operation.kind === 'response' || isWithin(operation, root))) operations.push(operation)
  }
  return operations
}

function isWithin(operation: Exclude<Operation, { kind: 'response' }>, root: string): boolean {
  const paths = 'to' in operation ? [operation.path, operation.to] : [operation.path]
  return (
    paths.some((path) => path.startsWith(`${root}/`) || path === root) && !operation.path.endsWith('-shm')
  )
}

/** A write to a connection that begins like a response. */
function responseOf(call: string): Operation | undefined {
  if (!/^(?:write|writev|sendto)\(\d+<\\x73\\x6f\\x63\\x6b\\x65\\x74/.test(call)) return undefined
  const text = Buffer.concat(stringsOf(call)).toString()
  return text.startsWith('HTTP/1.1') ? { kind: 'response', text } : undefined
}

function operationOf(call: string, begun: number): Operation | undefined {
  const [, name = '', list = '', result = ''] = /^(\w+)\((.*)\)\s+= (-?\d+)/s.exec(call) ?? []
  const failed = result.startsWith('-')
  const descriptors = [...list.matchAll(/(?:^|, )(\d+|AT_FDCWD)<((?:\\x..)*)>(\(deleted\))?/g)]
  if (name === '' || descriptors.some(([, , , deleted]) => deleted !== undefined)) return undefined
  const folders = descriptors.map(([, , path = '']) => textOf(path))
  const path = folders[0] ?? ''
  const descriptor = Number(descriptors[0]?.[1])
  if (name === 'fsync' || name === 'fdatasync') return { kind: 'sync', path, failed, begun }
  if (failed) return undefined
  const count = Number(result)
  const numbers = list.split(', ').map(Number)
  const last = numbers.at(-1)
  switch (name) {
    case 'write':
    case 'writev':
    case 'pwrite64':
    case 'pwritev': {
      const bytes = Buffer.concat(stringsOf(list)).subarray(0, count)
      return { kind: 'write', path, descriptor, bytes, offset: name.startsWith('p') ? last : undefined }
    }
    case 'copy_file_range': {
      const [, fromOffset, , offset] = numbers
      return copied(folders[0] ?? '', folders[1] ?? '', count, fromOffset, offset)
    }
    case 'sendfile':
      return copied(folders[1] ?? '', path, count, numbers[2], undefined)
    case 'ftruncate':
      return { kind: 'resize', path, size: last ?? 0 }
  }
  const names = stringsOf(list).map(String)
  const paths = names.map((each, index) => resolve(folders[index] ?? folders[0] ?? '/', each))
  const [first = '', to = ''] = paths
  switch (name) {
    case 'open':
    case 'openat':
    case 'creat':
      if (name !== 'creat' && !/O_WRONLY|O_RDWR|O_CREAT/.test(list)) return undefined
      return {
        kind: 'open',
        path: first,
        descriptor: count,
        create: name === 'creat' || list.includes('O_CREAT'),
        truncate: name === 'creat' || list.includes('O_TRUNC'),
        append: list.includes('O_APPEND'),
      }
    case 'truncate':
      return { kind: 'resize', path: first, size: last ?? 0 }
    case 'mkdir':
    case 'mkdirat':
      return { kind: 'folder', path: first }
    case 'rmdir':
    case 'unlink':
    case 'unlinkat':
      return { kind: 'remove', path: first }
    case 'rename':
    case 'renameat':
    case 'renameat2':
      return { kind: 'rename', path: first, to }
    case 'link':
    case 'linkat':
      return { kind: 'link', path: first, to }
    case 'symlink':
    case 'symlinkat':
      return { kind: 'symlink', path: to, target: names[0] ?? '' }
  }
  return undefined
}

function copied(
  from: string,
  path: string,
  bytes: number,
  fromOffset: number | undefined,
  offset: number | undefined,
): Operation {
  const known = (place: number | undefined) => (Number.isNaN(place) ? undefined : place)
  return { kind: 'copy', from, path, bytes, fromOffset: known(fromOffset), offset: known(offset) }
}

/** The strings of a call, which `-xx` writes as `"\x2f\x61"`. */
const stringsOf = (list: string): Buffer[] =>
  [...list.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, escaped = '']) => bytesOf(escaped))

const bytesOf = (escaped: string) => Buffer.from(escaped.replaceAll('\\x', ''), 'hex')
const textOf = (escaped: string) => bytesOf(escaped).toString()
