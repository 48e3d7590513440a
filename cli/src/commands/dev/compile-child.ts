import { createRequire } from 'node:module'
import { join } from 'node:path'
import type TypeScript from 'typescript'
import type { CompilerMessage } from './compiler.ts'

// Compiles a module with its own TypeScript, again after each save. It is a process of its own, so
// that the host responds while types are checked.

/** TypeScript waits 250 ms for further changes. Nobody saves that often. */
const LONGEST_WAIT = 20

// Also after the command was killed.
process.on('disconnect', () => process.exit())

const directory = process.argv[2] as string
const typescript: typeof TypeScript = createRequire(join(directory, 'package.json'))('typescript')
const configuration = join(directory, 'tsconfig.json')
const system: TypeScript.System = {
  ...typescript.sys,
  setTimeout: (work, delay, ...rest) => setTimeout(work, Math.min(delay, LONGEST_WAIT), ...rest),
}
const send = (message: CompilerMessage) => process.send?.(message)
let errors: string[] = []

const formatting = {
  getCurrentDirectory: () => directory,
  getCanonicalFileName: (name: string) => name,
  getNewLine: () => '\n',
}
const host = typescript.createWatchCompilerHost(
  configuration,
  { noEmitOnError: true, ...mapping() },
  system,
  typescript.createEmitAndSemanticDiagnosticsBuilderProgram,
  (diagnostic) => errors.push(typescript.formatDiagnostic(diagnostic, formatting).trimEnd()),
  (_status, _newLine, _options, count) => {
    const found = errors
    errors = []
    send(count === undefined ? { kind: 'compiling' } : { kind: 'compiled', errors: found })
  },
)
typescript.createWatchProgram(host)

/** Source maps, so that an error names the line of the source. */
function mapping(): TypeScript.CompilerOptions {
  const stub = { ...typescript.sys, onUnRecoverableConfigFileDiagnostic() {} }
  const parsed = typescript.getParsedCommandLineOfConfigFile(configuration, {}, stub)
  return parsed?.options.inlineSourceMap ? {} : { sourceMap: true }
}
