import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { compilerEnded, noTypeScript } from '@mortise/installer/failures'

export type CompilerMessage =
  | { readonly kind: 'compiling' }
  | { readonly kind: 'compiled'; readonly errors: readonly string[] }

export const isTypeScript = (module: string) => existsSync(join(module, 'tsconfig.json'))

/** The TypeScript of a module at work. */
export class Compiler {
  /** Undefined while it compiles. */
  errors: readonly string[] | undefined

  /**
   * @param compiled called after each compilation
   * @param failed called if the compiler ends before `signal` aborts
   */
  constructor(module: string, signal: AbortSignal, compiled: () => void, failed: (error: unknown) => void) {
    const file = join(import.meta.dirname, `compile-child${extname(import.meta.filename)}`)
    const child = fork(file, [module], { cwd: module, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], signal })
    let output = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-2000)
    })
    child.on('message', (message: CompilerMessage) => {
      this.errors = message.kind === 'compiled' ? message.errors : undefined
      if (message.kind === 'compiled') compiled()
    })
    child.on('error', (error) => {
      if (!signal.aborted) failed(error)
    })
    child.on('close', () => {
      if (!signal.aborted) failed(compilerEnded({ reason: lastLine(output) }))
    })
  }
}

/** @throws {Failure} */
export function assertTypeScript(module: string): void {
  try {
    createRequire(join(module, 'package.json')).resolve('typescript')
  } catch (cause) {
    throw noTypeScript({ module, cause })
  }
}

const lastLine = (output: string) =>
  output.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? 'it reported nothing'
