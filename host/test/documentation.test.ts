import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { checkSettings, configSchema, variableOf } from '@mortise/application'
import { DAY } from '@mortise/module-sdk'
import { Manifest } from '@mortise/module-sdk/host'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { GUEST_LIFETIME } from '../src/callers/guests.ts'
import { MAX_DATA } from '../src/events/event-log.ts'
import { MOST_KEYS } from '../src/http/limits/window-counter.ts'
import { RESPONSE_LIFETIME } from '../src/requests/idempotency-records.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFile(new URL(path, root), 'utf8')

/** The rows of all tables of a page, as cells without surrounding blanks. */
function rowsOf(markdown: string): string[][] {
  return Array.from(markdown.matchAll(/^\| (.+) \|$/gm), ([, row]) =>
    (row as string).split(/ ?\| /).map((cell) => cell.trim()),
  )
}

const code = (text: string) => `\`${text}\``

function typeOf({ enum: values, type, patternProperties }: TSchema): string {
  if (values) return 'one of'
  return patternProperties ? 'object' : type === 'array' ? 'list' : type
}

/** The path of each setting, its schema, and whether it must be there. */
function* settingsOf(schema: TSchema, path: readonly string[] = []): Generator<[string[], TSchema, boolean]> {
  for (const [key, property] of Object.entries<TSchema>(schema.properties)) {
    const own = [...path, key]
    if (property.properties) yield* settingsOf(property, own)
    else yield [own, property, schema.required?.includes(key) ?? false]
  }
}

t.test('configuration.md has every setting with its type, default and variable, and no other', async (t) => {
  const rows = rowsOf(await read('docs/configuration.md')).filter((row) => row.length === 5)
  const documented = new Map(rows.slice(1).map((row) => [row[0], row]))
  for (const [path, schema] of settingsOf(configSchema)) {
    const key = path.join('.')
    const [, type, fallback, variable] = documented.get(code(key)) ?? []
    t.match(type, new RegExp(`^${typeOf(schema)}`), `the type of ${key}`)
    t.equal(fallback, schema.default === undefined ? '' : code(JSON.stringify(schema.default)), `of ${key}`)
    t.equal(variable, key === '$schema' ? '' : code(variableOf(path)), `the variable of ${key}`)
    documented.delete(code(key))
  }
  t.same([...documented.keys()], [], 'no setting that does not exist')
})

t.test('configuration.md has every key of an issuer, and no other', async (t) => {
  const rows = rowsOf(await read('docs/configuration.md')).filter(([key]) =>
    key?.startsWith('`auth.issuers[]'),
  )
  const issuer = configSchema.properties.auth.properties.issuers.items
  const expected = Array.from(settingsOf(issuer, ['auth', 'issuers[]']), ([path, schema, isRequired]) => [
    code(path.join('.')),
    schema.default === undefined ? (isRequired ? 'required' : '') : code(JSON.stringify(schema.default)),
  ])
  t.same(
    rows.map(([key, , fallback]) => [key, fallback]),
    expected,
  )
})

t.test('configuration.md shows settings that are accepted', async (t) => {
  const blocks = [...(await read('docs/configuration.md')).matchAll(/^```json\n([\s\S]*?)^```$/gm)]
  t.ok(blocks.length > 0)
  for (const [, block] of blocks) checkSettings(JSON.parse(block as string), configSchema)
})

t.test('the README of the SDK has every key of the manifest, and no other', async (t) => {
  const section = (await read('packages/module-sdk/README.md'))
    .split(/^## /m)
    .find((text) => text.startsWith('Manifest'))
  const documented = rowsOf(section ?? '').slice(1)
  t.same(
    documented.map(([key]) => key),
    Object.keys(Manifest.properties).map(code),
  )
})

t.test('operating.md says for how long everything is kept', async (t) => {
  const section = (await read('docs/operating.md'))
    .split(/^### /m)
    .find((text) => text.startsWith('What is kept'))
  const rows = new Map(rowsOf(section ?? '').map((cells) => [cells[0], cells.slice(1).join(' ')]))
  const { mortise } = JSON.parse(await read('packages/api-event/package.json'))
  const ofEvents = mortise.config.properties
  const carts = /LIFETIME = \{ guest: (\d+) \* DAY, user: (\d+) \* DAY \}\nconst MAX_ITEMS = (\d+)/.exec(
    await read('packages/api-cart/src/service.ts'),
  )
  const generations = /KEPT = (\d+)/.exec(await read('packages/installer/src/store/installed-packages.ts'))
  const { events, rateLimit } = configSchema.properties
  const expected = {
    'a guest (the hash of the token)': [
      `${GUEST_LIFETIME / DAY} days`,
      `${rateLimit.properties.maxNewGuests.default} new ones`,
    ],
    'a cart': [`${carts?.[1]} days`, `${carts?.[2]} days`, `${carts?.[3]} lines`],
    'the response to an `Idempotency-Key`': [`${(RESPONSE_LIFETIME / DAY) * 24} hours`],
    'an event': [`${events.properties.retentionDays.default} days`, `${MAX_DATA / 1024} KiB`],
    'a webhook': [`${ofEvents.webhooksPerCaller.default} a caller`],
    'an ended delivery': [`${ofEvents.webhookDeliveryDays.default} days`],
    'counts of rate limits': [`${MOST_KEYS.toLocaleString('en')} callers`],
    'packages, and snapshots before migrations': [`the last ${generations?.[1]} generations`],
  }
  for (const [what, texts] of Object.entries(expected))
    for (const text of texts) t.ok(rows.get(what)?.includes(text), `${what}: ${text}`)
})

const ownTests = [
  'bulk-discount',
  'follow',
  'invite',
  'kysely',
  'ledger',
  'sales-tax',
  'sold',
  'stock',
  'visit',
]
for (const example of ownTests) {
  t.test(`the example ${example} passes its own tests`, async (t) => {
    const { status, stdout } = spawnSync(process.execPath, ['--test'], {
      cwd: fileURLToPath(new URL(`docs/examples/${example}`, root)),
      encoding: 'utf8',
    })
    t.equal(status, 0, stdout)
    t.match(stdout, process.env.APP_TEST_DATABASE_URL ? /pass 2\n/ : /pass 1\n/)
  })
}
