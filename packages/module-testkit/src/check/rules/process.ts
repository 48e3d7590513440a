import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { living, type Seen, seen } from '../watch/seen.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { WatchedModule } from '../world/watch-module.ts'

// What the module did to the process, judged after it has closed.

type ProcessRule = Rule<WatchedModule>

/** A rule for each thing that the code of the module did: why it should not, or undefined. */
const forSeen =
  (what: Seen['what'], broken: (one: Seen, where: string) => string | undefined): ProcessRule['find'] =>
  ({ place }) =>
    seen.flatMap((one): Found[] => {
      const where = one.what === what ? place(one.stack) : undefined
      const why = where && broken(one, where)
      return where && why ? [{ where, why }] : []
    })

const connections: ProcessRule = {
  code: 'network',
  finds:
    'a connection while it loads, in a GET, which every self-check sends, or in a transaction, which may run twice',
  remedy:
    'Write a row that says what to do, and do it outside of the transaction; connect when a request needs it.',
  find: forSeen('network', ({ name, during }) =>
    during === 'a request' ? undefined : `it connects to ${name} during ${during}`,
  ),
}

const processes: ProcessRule = {
  code: 'process',
  finds: 'a module that starts a process',
  remedy: 'Use a library, or a worker thread.',
  find: forSeen('process', ({ name, during }) => `it starts ${name} during ${during}`),
}

const environment: ProcessRule = {
  code: 'environment',
  finds: 'a variable of the environment: operators do not know it, and the probe has none',
  remedy: 'Declare a setting in defineModule; an operator can set it as APP_MODULES_….',
  find: forSeen('environment', ({ name }, where) =>
    where.startsWith('node_modules/') ? undefined : `it reads ${name} from the environment`,
  ),
}

const imports: ProcessRule = {
  code: 'undeclared-import',
  finds: 'an import of a package that package.json does not name: it is not installed with the module',
  remedy: 'Add it to "dependencies".',
  find(module) {
    const json = JSON.parse(readFileSync(join(module.directory, 'package.json'), 'utf8'))
    const { name: self, dependencies, peerDependencies, optionalDependencies } = json
    const named = { [self]: '', ...dependencies, ...peerDependencies, ...optionalDependencies }
    return forSeen('import', (one, where) => {
      const name = /^(@[^/]+\/)?[^/]+/.exec(one.name)?.[0] ?? one.name
      return where.includes('node_modules/') || name in named ? undefined : `it imports ${name}`
    })(module)
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

const leftovers: ProcessRule = {
  code: 'left-behind',
  finds: 'a timer, port or thread that outlives the instance: each change of what is installed adds another',
  remedy: 'End it in app.addHook("onClose", …), or use everyMinute.',
  find: ({ place }) =>
    [...living.values()].flatMap(({ type, stack }) => {
      const where = place(stack)
      return where === undefined ? [] : [{ where, why: `${NAMES[type]} is left after the module has closed` }]
    }),
}

export const processRules = [connections, processes, environment, imports, leftovers]
