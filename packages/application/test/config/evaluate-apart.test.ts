import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { assertSettings, schemaFault, settingFaults } from '../../src/config/evaluate-apart.ts'
import { readNewPackage } from '../../src/modules/read-package.ts'
import { temporaryFolder } from '../application-folder.ts'

const environment = {}
const properties = (name: object) => ({ type: 'object', properties: { name } }) as never

t.test('settings are checked as their module checks them', async (t) => {
  const schema = properties({ type: 'string', maxLength: 3 })
  t.same(await settingFaults({ modules: { note: { name: 'ann' } }, environment }, 'note', schema), [])
  const wrong = { modules: { note: { name: 'anna' } }, environment }
  t.same(await settingFaults(wrong, 'note', schema), [
    '"modules.note.name" must be a string of at most 3 characters',
  ])
  const variable = { modules: {}, environment: { APP_MODULES_NOTE_NAME: 'anna' } }
  await t.rejects(assertSettings(variable, 'note', schema), {
    name: 'ConfigError',
    message: /^APP_MODULES_NOTE_NAME \("modules\.note\.name"\) must be/,
  })
  t.same(await settingFaults({ modules: {}, environment }, 'note', undefined), [])
  t.match(await settingFaults(wrong, 'note', undefined), [/has no settings: remove them/])
})

/** Each refers twice to the next. */
const doubling = (levels: number) => ({
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, at) => {
      const next = at + 1 < levels ? { $ref: `#/$defs/d${at + 1}` } : { type: 'string', pattern: '^x' }
      return [`d${at}`, { allOf: [next, next] }]
    }),
  ),
})

t.test(
  'what takes too much time or memory is a fault, and the next question is given a response',
  async (t) => {
    const endless = '^(a+)+$'
    const text = `${'a'.repeat(40)}!`
    const hostile: [string, object, Record<string, unknown>][] = [
      ['a pattern, by its default', { type: 'string', pattern: endless, default: text }, {}],
      ['a pattern, by a value', { type: 'string', pattern: endless }, { name: text }],
      [
        'a pattern for names',
        { type: 'object', patternProperties: { [endless]: { type: 'number' } } },
        { name: { [text]: 1 } },
      ],
      ['references that double', { $ref: '#/$defs/d0' }, { name: 'x' }],
    ]
    for (const [what, name, settings] of hostile) {
      const schema = { ...(properties(name) as object), ...doubling(40) } as never
      t.match(
        await settingFaults({ modules: { note: settings } as never, environment }, 'note', schema),
        [/^"modules\.note" (takes more than 3 s|needs more than 192 MiB)/],
        what,
      )
      t.same(await settingFaults({ modules: {}, environment }, 'note', properties({ type: 'string' })), [])
    }
  },
)

t.test('a schema that is none, too large or too deep is named as that', async (t) => {
  t.match(await schemaFault({ type: 'sting' }), /schema is invalid: "type"/)
  t.match(await schemaFault({ properties: { a: { pattern: '(' } } }), /Invalid regular expression/)
  t.match(await schemaFault({ description: 'x'.repeat(300_000) }), /has more than 256 KiB/)
  let deep: object = {}
  for (let level = 0; level < 100_000; level += 1) deep = { not: deep }
  t.match(await schemaFault(deep), /nested too deeply/)
  let nested: object = {}
  for (let level = 0; level < 5_000; level += 1) nested = { not: nested }
  t.match(await schemaFault(nested), /nested too deeply|call stack|more than/)
  t.equal(await schemaFault({ type: 'object' }), undefined)
})

t.test('a package whose settings schema has no end is refused by its name', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(folder, { recursive: true })
  const items = Array.from({ length: 20_000 }, (_, at) => ({ a: { b: at } }))
  const mortise = { id: 'evil', host: '*', routes: [], config: { properties: { a: { enum: items } } } }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'evil', version: '1.0.0', mortise }))
  await t.rejects(readNewPackage(folder), {
    name: 'ManifestError',
    message: /package\.json is not a JSON Schema: it (takes|has) more than/,
  })
})
