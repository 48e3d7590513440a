import { join } from 'node:path'
import t from 'tap'
import { parseJson, readJsonFile } from '../../src/index.ts'

const isAnything = (value: unknown): value is unknown => value !== undefined

t.test('a file of JSON is what it says, or is refused with the place', async (t) => {
  const files = {
    good: '{"a":{"b":[1,"\\u00e9"]}}',
    empty: ' \n',
    short: '{"a":',
    twice: '{"server":{"port":1,"port":2}}',
    rounded: '{"server":{"port":1.00000000000000000001}}',
    proto: '{"__proto__":{}}',
    marked: '\ufeff{"a":1}',
    surrogate: '{"a":"\\ud800"}',
    deep: '['.repeat(101) + ']'.repeat(101),
  }
  const folder = t.testdir(files)
  const read = (name: keyof typeof files) => readJsonFile(join(folder, name), isAnything)
  t.strictSame(await read('good'), { a: { b: [1, 'é'] } })
  t.strictSame(await read('marked'), { a: 1 }, 'an editor has begun it with a byte order mark')
  t.equal(await readJsonFile(join(folder, 'none'), isAnything), undefined)
  for (const [name, reason] of [
    ['empty', /empty is empty$/],
    ['short', /short is not JSON: it is cut off$/],
    ['twice', /twice is refused: \/server\/port must be given once$/],
    ['rounded', /rounded is refused: \/server\/port must be a number that a double can hold/],
    ['proto', /proto is refused: \/__proto__ is not a known field$/],
    ['surrogate', /surrogate is refused: \/a must not contain lone surrogates$/],
    ['deep', /deep is refused: it must not be nested deeper than 100 levels$/],
  ] as const)
    await t.rejects(read(name), { name: 'UnreadableFileError', message: reason })
  t.throws(
    () => parseJson('{"a":1,"a":1}', (reason) => new Error(`the text ${reason}`)),
    /the text is refused/,
  )
})
