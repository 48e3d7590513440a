import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  endlessLoop,
  type SampleOptions,
  sampleFiles,
  sampleTarball,
  sleep,
} from '../../../packages/installer/test/sample-module.ts'
import { packed } from '../../../packages/installer/test/tarball.ts'
import type { Corpus, Hostile, Lab } from './hostile.ts'

// Well packed modules that lie about themselves, take what is not theirs, or do harm when they run.

type Options = SampleOptions | ((lab: Lab) => SampleOptions)

const module = (code: string, message: RegExp, options: Options): Hostile => ({
  code,
  message,
  spec: async (lab) => {
    const chosen = typeof options === 'function' ? options(lab) : options
    const { main = honestMain } = chosen
    return await sampleTarball(join(lab.folder, 'hostile-1.0.0.tgz'), { ...chosen, main: lab.canary + main })
  },
})
const probed = (message: RegExp, options: Options): Hostile => ({
  ...module('probe-failed', message, options),
  probed: true,
})

/** A package.json that JSON.stringify would not write. */
const description = (message: RegExp, change: (honest: string) => string): Hostile => ({
  code: 'unsafe-package',
  message,
  spec: async ({ folder, canary }) => {
    const files = sampleFiles({ main: canary })
    const text = change(files['package.json'] as string)
    const file = join(folder, 'hostile-1.0.0.tgz')
    await writeFile(file, packed({ ...files, 'package.json': text }))
    return file
  },
})

const honestMain =
  "import { defineModule } from '@mortise/module-sdk'\nexport default defineModule('hello').plugin(async () => {})\n"
const registering = (body: string) =>
  `import { defineModule } from '@mortise/module-sdk'
export default defineModule('hello').plugin(async (app) => {
  app.get('/hello', { config: { access: 'public' } }, async () => ({}))
  ${body}
})
`
const migration = (sql: string): SampleOptions => ({
  main: registering(''),
  manifest: { tables: 'hello', migrations: 'migrations' },
  files: { 'migrations/001-take.sql': sql },
})
const settings = (schema: string): SampleOptions => ({
  manifest: { config: 'settings.json' },
  files: { 'settings.json': schema },
})

export const hostileModules: Corpus = {
  // What it says of itself
  'a name that is a path': module('unsafe-package', /not the name of an npm package/, {
    name: 'a/../../../../escape',
  }),
  'a name with an address': module('unsafe-package', /not the name of an npm package/, {
    name: 'hello@https://127.0.0.1:1/x.tgz',
  }),
  'a main file outside': module('unsafe-package', /main file .* is outside/, {
    json: { main: '../../../../outside.js', exports: undefined },
  }),
  'an exports map that leads outside': module('unsafe-package', /"exports" name .* outside the package/, {
    json: { exports: './../../outside.js' },
  }),
  'a command named node': module('unsafe-package', /command "node"/, {
    json: { bin: { node: './index.js' } },
  }),
  'a package named as a command': module('unsafe-package', /command "app"/, {
    name: '@acme/app',
    json: { bin: './index.js' },
  }),
  'a key twice': description(/key "name" twice/, (honest) => honest.replace('{', '{"name":"@acme/other",')),
  'a key twice, once escaped': description(/key "name" twice/, (honest) =>
    honest.replace('{', '{"\\u006eame":"@acme/other",'),
  ),
  'a prototype in package.json': description(/"__proto__"/, (honest) =>
    honest.replace('{', '{"__proto__":{"enabled":true},'),
  ),
  'a prototype in the manifest': description(/"__proto__"/, (honest) =>
    honest.replace('"mortise":{', '"mortise":{"requires":{"__proto__":{"polluted":"1"}},'),
  ),
  'a prototype in the schema of its settings': module(
    'unsafe-package',
    /settings\.json has the key "__proto__"/,
    settings('{"type":"object","properties":{"__proto__":{"default":{"polluted":true}}}}'),
  ),
  'a constructor in the manifest': module('invalid-manifest', /mortise\.constructor/, {
    manifest: { constructor: { prototype: { polluted: true } } },
  }),
  'a package.json of megabytes': description(/larger than 1 MiB/, (honest) =>
    honest.replace('{', `{"description":"${'x'.repeat(2 ** 21)}",`),
  ),
  'a manifest that is no JSON': description(/is not JSON/, (honest) => honest.slice(0, -1)),
  'an id that is a path': module('invalid-manifest', /mortise\.id/, { manifest: { id: '../escape' } }),
  'a version that is a path': module('invalid-manifest', /"version" is not a semantic version/, {
    version: '1.0.0/../../x',
  }),
  'migrations outside': module('invalid-manifest', /must lie inside/, {
    manifest: { tables: 'hello', migrations: '../../../data' },
  }),
  'settings outside': module('invalid-manifest', /must lie inside/, {
    manifest: { config: '../../../../app.config.json' },
  }),
  'a schema of settings that is none': module(
    'invalid-manifest',
    /not a JSON Schema/,
    settings('{"type":"nonsense"}'),
  ),
  'a host range for anything': module('invalid-manifest', /not a semver range/, {
    manifest: { host: 'any || x y' },
  }),
  'a host that is not this one': module('host-range', /99/, { manifest: { host: '>=99' } }),
  'the id of another package': module('id-taken', /already installed from the package @acme\/kept/, {
    id: 'kept',
    name: '@evil/kept',
  }),

  // What it takes
  'a route of the host': module('conflict', /GET \/health\/live belongs to the host/, {
    manifest: { routes: ['GET /health/live'] },
  }),
  'the root of the host': module('invalid-manifest', /mortise\.routes\.0/, {
    manifest: { routes: ['GET /'] },
  }),
  'a route of another module': module('conflict', /lies below \/kept, which belongs to kept/, {
    manifest: { routes: ['GET /kept'] },
  }),
  'a route that it does not declare': probed(/GET \/stolen, which its manifest does not declare/, {
    main: registering("app.get('/stolen', { config: { access: 'public' } }, async () => ({}))"),
  }),
  'a route for every path': probed(/\*, which its manifest does not declare/, {
    main: registering("app.get('/*', { config: { access: 'public' } }, async () => ({}))"),
  }),
  'tables of the host': module('conflict', /conflict with those of the host/, {
    manifest: { tables: 'mortise_migration' },
  }),
  'tables of another module': module('conflict', /conflict with "kept" of kept/, {
    manifest: { tables: 'kept_row' },
  }),
  'a migration that makes a table elsewhere': probed(
    /makes the table "other"/,
    migration('CREATE TABLE other (a TEXT);'),
  ),
  'a migration that drops a table of another module': module(
    'migration-failed',
    /no such table: kept_row/,
    migration('DROP TABLE kept_row;'),
  ),
  'a migration that alters a table of another module': module(
    'migration-failed',
    /no such table: kept_row/,
    migration('ALTER TABLE kept_row ADD COLUMN stolen TEXT;'),
  ),
  'a migration that drops the ledger': module(
    'migration-failed',
    /no such table: mortise_migration/,
    migration('DROP TABLE mortise_migration;'),
  ),
  'a trigger on a table of another module': module(
    'migration-failed',
    /no such table: (main\.)?kept_row/,
    migration(
      'CREATE TABLE hello (a TEXT);\nCREATE TRIGGER hello_spy AFTER INSERT ON kept_row BEGIN INSERT INTO hello VALUES (NEW.a); END;',
    ),
  ),
  'an index on a table of another module': module(
    'migration-failed',
    /no such table: (main\.)?kept_row/,
    migration('CREATE INDEX hello_i ON kept_row (a);'),
  ),
  "a migration that changes another module's rows": module(
    'migration-failed',
    /no such table: kept_row/,
    migration("UPDATE kept_row SET a = 'stolen';"),
  ),
  'a temporary table that hides another': probed(
    /temporary table "kept_row"/,
    migration('CREATE TEMP TABLE kept_row (a TEXT);'),
  ),
  'a migration that attaches a file': module(
    'migration-failed',
    /ATTACH belongs to the storage engine/,
    migration("ATTACH DATABASE '/tmp/stolen.db' AS stolen;"),
  ),
  'a migration that sets a pragma': module(
    'migration-failed',
    /PRAGMA belongs to the storage engine/,
    migration('/* */ PRAGMA writable_schema = ON;'),
  ),
  'a migration that ends the transaction': module(
    'migration-failed',
    /COMMIT belongs/,
    migration('COMMIT; DROP TABLE kept_row;'),
  ),
  'a migration that writes the schema table': module(
    'migration-failed',
    /sqlite_(master|schema) may not be modified/,
    migration("UPDATE sqlite_schema SET sql = 'CREATE TABLE kept_row (b)' WHERE name = 'kept_row';"),
  ),

  // What it does
  'code that throws while it loads': probed(/broken while loading/, {
    main: "throw new Error('broken while loading')",
  }),
  'code that ends the process': probed(/exit code 0/, { main: 'process.exit(0)' }),
  'code that kills its process': probed(/SIGKILL/, { main: "process.kill(process.pid, 'SIGKILL')" }),
  'code that throws later': probed(/thrown later/, {
    main: registering(
      "setImmediate(() => { throw new Error('thrown later') }); await new Promise((done) => setTimeout(done, 500))",
    ),
  }),
  'a promise that is rejected by nobody': probed(/rejected later/, {
    main: registering(
      "Promise.reject(new Error('rejected later')); await new Promise((done) => setTimeout(done, 500))",
    ),
  }),
  'code that takes all memory': probed(
    /heap|memory|SIGABRT|SIGKILL|exit code|did not finish loading within/,
    {
      main: 'const all = []; for (;;) all.push(new Array(1e6).fill(Math.random()))',
    },
  ),
  'a fork bomb': probed(/starts a process while it loads.*\(index\.js:\d+\)/, {
    main: "import { fork } from 'node:child_process'\nfor (;;) fork(import.meta.filename)",
  }),
  'a fork bomb in a thread': probed(/starts a process while it loads/, {
    main: "import { Worker } from 'node:worker_threads'\nnew Worker('for (;;) require(`child_process`).spawn(`sh`)', { eval: true })\nawait new Promise(() => {})",
  }),
  'threads without end': probed(/more than 1024 MiB of memory|did not finish loading within/, {
    main: "import { Worker } from 'node:worker_threads'\nfor (;;) new Worker('setInterval(() => {}, 1e6)', { eval: true })",
  }),
  'buffers without end': probed(/more than 1024 MiB of memory|did not finish loading within/, {
    main: 'const all = []\nfor (;;) all.push(Buffer.alloc(1e7, 1))',
  }),
  'a file without end': probed(/more than 256 MiB to the disk/, {
    main: "import { appendFileSync } from 'node:fs'\nfor (;;) appendFileSync('large', Buffer.alloc(1e7, 1))",
  }),
  'files without end': probed(/more than 10000 files/, {
    main: "import { writeFileSync } from 'node:fs'\nfor (let at = 0; ; at++) writeFileSync(String(at), '')",
  }),
  'rows without end': module(
    'migration-failed',
    /database or disk is full|did not end/,
    migration(
      'CREATE TABLE hello AS WITH RECURSIVE more(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM more) SELECT randomblob(1000000) AS filler FROM more;',
    ),
  ),
  // Its time or its memory, whichever ends first.
  'output without end': probed(/did not finish loading within|out of memory/, {
    main: `for (;;) { console.error('x'.repeat(1e6)); ${sleep} }`,
  }),
  'code that writes to the application': probed(/writes to .*app\.config\.json while it loads/, (lab) => ({
    main: `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(join(dirname(lab.folder), 'application/app.config.json'))}, ' ')`,
  })),
  'code that writes into its own package': probed(/writes to .*late\.js while it loads/, {
    main: "import { writeFileSync } from 'node:fs'\nwriteFileSync(new URL('late.js', import.meta.url), '')",
  }),
  'something of its own for every object': probed(/adds Object\.prototype\.shout/, {
    main: `Object.prototype.shout = () => 1\n${honestMain}`,
  }),
  'a JSON.parse of its own': probed(/replaces JSON\.parse/, {
    main: `JSON.parse = () => ({})\n${honestMain}`,
  }),
  'a fetch of its own': probed(/replaces fetch/, { main: `globalThis.fetch = () => {}\n${honestMain}` }),
  'an HTTP server of its own': probed(/adds http\.Server\.prototype\.emit/, {
    main: registering(";(await import('node:http')).Server.prototype.emit = () => true"),
  }),
  'a listener for every error': probed(/adds a listener for "uncaughtException"/, {
    main: registering("process.on('uncaughtException', () => {})"),
  }),
  'no plugin at all': probed(/default export is not a Fastify plugin/, { main: 'export default 42' }),
  'an endless loop while it loads': probed(/did not finish loading within/, { main: endlessLoop }),
  'an endless loop while it registers': probed(/did not finish loading within/, {
    main: registering(endlessLoop),
  }),
  'a promise without end while it loads': probed(/did not finish loading within/, {
    main: 'await new Promise((done) => setTimeout(done, 1e9))',
  }),
  'a promise without end while it registers': probed(/not finish|timed? ?out|Plugin did not start/i, {
    main: registering('await new Promise(() => {})'),
  }),
}
