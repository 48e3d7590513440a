import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Seen, seen, stillLiving } from '../watch/seen.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { WatchedModule } from '../world/watch-module.ts'

// What the module did to the process, judged after it has closed.

export type ProcessRule = Rule<WatchedModule>

const unique = (found: readonly Found[]) => [...new Map(found.map((one) => [one.where, one])).values()]

const own = ({ place }: WatchedModule, what: Seen['what']) =>
  seen.flatMap((one) => {
    const where = one.what === what ? place(one.stack) : undefined
    return where === undefined ? [] : [{ ...one, where }]
  })

export const connections: ProcessRule = {
  code: 'network',
  finds:
    'a connection while it loads, in a GET, which every self-check sends, or in a transaction, which may run twice',
  mend: 'Write a row that says what to do, and do it outside of the transaction; connect when a request needs it.',
  find: (module) =>
    unique(
      own(module, 'network')
        .filter(({ during }) => during !== 'a request')
        .map(({ where, name, during }) => ({ where, why: `it connects to ${name} during ${during}` })),
    ),
}

export const processes: ProcessRule = {
  code: 'process',
  finds: 'a module that starts a process',
  mend: 'Use a library, or a worker thread.',
  find: (module) =>
    unique(
      own(module, 'process').map(({ where, name, during }) => ({
        where,
        why: `it starts ${name} during ${during}`,
      })),
    ),
}

export const environment: ProcessRule = {
  code: 'environment',
  finds: 'a variable of the environment: operators do not know it, and the probe has none',
  mend: 'Declare a setting in defineModule; an operator can set it as APP_MODULES_….',
  find: (module) =>
    unique(
      own(module, 'environment')
        .filter(({ where }) => !where.startsWith('node_modules/'))
        .map(({ where, name }) => ({ where, why: `it reads ${name} from the environment` })),
    ),
}

export const imports: ProcessRule = {
  code: 'undeclared-import',
  finds: 'an import of a package that package.json does not name: it is not installed with the module',
  mend: 'Add it to "dependencies".',
  find(module) {
    const json = JSON.parse(readFileSync(join(module.directory, 'package.json'), 'utf8'))
    const { name: self, dependencies, peerDependencies, optionalDependencies } = json
    const named = { [self]: '', ...dependencies, ...peerDependencies, ...optionalDependencies }
    return unique(
      own(module, 'import')
        .filter(({ where }) => !where.includes('node_modules/'))
        .map((one) => ({ ...one, name: /^(@[^/]+\/)?[^/]+/.exec(one.name)?.[0] ?? one.name }))
        .filter(({ name }) => !(name in named))
        .map(({ where, name }) => ({ where: where.replace(/:1$/, ''), why: `it imports ${name}` })),
    )
  },
}

const NAMES: Readonly<Record<string, string>> = {
  Timeout: 'a timer',
  TCPSERVERWRAP: 'an open port',
  PIPESERVERWRAP: 'an open socket',
  UDPWRAP: 'an open UDP port',
  FSEVENTWRAP: 'a file watcher',
  STATWATCHER: 'a file watcher',
  SIGNALWRAP: 'a signal listener',
  WORKER: 'a thread',
}

export const leftovers: ProcessRule = {
  code: 'left-behind',
  finds: 'a timer, port or thread that outlives the instance: each change of what is installed adds another',
  mend: 'End it in app.addHook("onClose", …), or use everyMinute.',
  find: ({ place }) =>
    unique(
      stillLiving().flatMap(({ type, stack }) => {
        const where = place(stack)
        return where === undefined
          ? []
          : [{ where, why: `${NAMES[type]} is left after the module has closed` }]
      }),
    ),
}
