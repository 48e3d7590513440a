import fc from 'fast-check'
import t from 'tap'
import { setInJson, unsetInJson } from '../../src/application/edit-json.ts'

const config = `{
  "$schema": "./.app/app.config.schema.json",
  "name": "Shop",
  "server": { "port": 8080,   "host": "::" },
  "cors": { "origins": ["https://a.example"] },
  "modules": {
    "note": { "keepFor": "30d" }
  }
}
`

t.test('set replaces a value in place and changes nothing else', async (t) => {
  t.equal(setInJson(config, ['server', 'port'], 80), config.replace('8080', '80'))
  t.equal(setInJson(config, ['modules', 'note', 'keepFor'], '7d'), config.replace('30d', '7d'))
})

t.test('a new member follows the layout of its neighbours', async (t) => {
  t.equal(
    setInJson(config, ['server', 'maxConnections'], 5),
    config.replace('"host": "::" }', '"host": "::", "maxConnections": 5 }'),
  )
  t.equal(
    setInJson(config, ['modules', 'cart', 'days'], 9),
    config.replace('"30d" }\n', '"30d" },\n    "cart": {\n      "days": 9\n    }\n'),
  )
})

t.test('set creates missing objects with the indentation of the file', async (t) => {
  t.equal(
    setInJson('{\n\t"name": "a"\n}\n', ['modules', 'note', 'n'], [1]),
    '{\n\t"name": "a",\n\t"modules": {\n\t\t"note": {\n\t\t\t"n": [\n\t\t\t\t1\n\t\t\t]\n\t\t}\n\t}\n}\n',
  )
  t.equal(
    setInJson('{\n  "modules": {}\n}\n', ['modules', 'a', 'b'], 1),
    '{\n  "modules": {\n    "a": {\n      "b": 1\n    }\n  }\n}\n',
  )
  t.equal(setInJson('{}', ['a'], 1), '{"a": 1}')
  t.equal(setInJson('{"a":1}', ['b'], { c: 2 }), '{"a":1, "b": {"c":2}}')
})

t.test('unset removes the member, its comma and empty objects', async (t) => {
  t.equal(
    unsetInJson(config, ['modules', 'note', 'keepFor']),
    config.replace(/,\n {2}"modules": \{[\s\S]*\}\n\}/, '\n}'),
  )
  t.equal(unsetInJson(config, ['server', 'port']), config.replace('"port": 8080,   ', ''))
  t.equal(unsetInJson(config, ['server', 'host']), config.replace(',   "host": "::"', ''))
  t.equal(unsetInJson('{ "a": 1 }', ['a']), '{}')
  t.equal(unsetInJson(config, ['modules', 'other', 'x']), config)
})

t.test('the last of two equal keys counts, as in JSON.parse', async (t) => {
  t.equal(setInJson('{"a":1,"a":2}', ['a'], 3), '{"a":1,"a":3}')
})

t.test('in any document, set and unset change only their member', async (t) => {
  // None ends in a backslash: once JSON.parse of V8 13.6 has met such a key, it takes others for it.
  const key = fc.constantFrom('a', 'b', '"', 'é{', '}', ',', ':', '1', 'toString')
  const documents = fc.letrec((tie) => ({
    object: fc.dictionary(
      key,
      fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.array(fc.string()), tie('object')),
      { noNullPrototype: true },
    ),
  })).object as fc.Arbitrary<Record<string, unknown>>
  fc.assert(
    fc.property(
      documents,
      fc.array(key, { minLength: 1, maxLength: 3 }),
      fc.jsonValue(),
      fc.constantFrom(undefined, 2, '\t'),
      (document, path, value, indentation) => {
        const expected = structuredClone(document)
        let parent: Record<string, unknown> = expected
        for (const name of path.slice(0, -1)) {
          if (!Object.hasOwn(parent, name)) parent[name] = {}
          const next = parent[name]
          if (!isObject(next)) return fc.pre(false)
          parent = next
        }
        parent[path.at(-1) as string] = value
        const text = JSON.stringify(document, null, indentation)
        const set = setInJson(text, path, value)
        t.same(JSON.parse(set), JSON.parse(JSON.stringify(expected)), set)
        const unset = JSON.parse(unsetInJson(set, path))
        let at: unknown = unset
        for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
        t.equal(at, undefined, set)
      },
    ),
    { numRuns: 300 },
  )
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
