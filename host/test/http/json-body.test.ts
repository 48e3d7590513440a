import type { Problem } from '@mortise/module-sdk'
import fc from 'fast-check'
import t from 'tap'
import { parseJsonBody } from '../../src/http/request-body.ts'

/** The pointer of the one error of what `body` is refused with. */
function pointer(body: string | Buffer): string {
  try {
    parseJsonBody(Buffer.from(body))
  } catch (error) {
    const { code, status, members } = error as Problem
    const [only, ...others] = members.errors as { pointer: string; detail: string }[]
    if (code !== 'invalid-request' || status !== 400 || others.length > 0 || !only?.detail) throw error
    return only.pointer
  }
  throw new Error(`${body} was taken`)
}

t.test('parses whatever is JSON', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      fc.pre(!/"__proto__"|\\u0000/.test(JSON.stringify(value)))
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        t.equal(JSON.stringify(parseJsonBody(Buffer.from(text))), JSON.stringify(value))
      }
    }),
    { numRuns: 200 },
  )
})

t.test('takes the same key in different objects, and escaped quotes and brackets in strings', async (t) => {
  const body = '{"a":{"a":1},"b":[{"a":1},{"a":"\\\\"},"},{[\\"a\\":"],"\\ud83d\\ude00":"\\ud83d\\ude00"}'
  t.strictSame(parseJsonBody(Buffer.from(body)), JSON.parse(body))
})

t.test('a key that ends in an escape is that key, whatever was parsed before', async (t) => {
  const parse = (body: string) => parseJsonBody(Buffer.from(body)) as object
  for (const [previous, body, key] of [
    ['{"h":[],"\\\\":0}', '{"h":1,"\\n":2}', '\n'],
    ['{"h":[],"caf\\\\":0}', '{"h":1,"caf\\u00e9":2}', 'café'],
    ['{"h":[],"\\\\":0}', '{"h":1,"\\\\":1,"\\"":[{"\\"":" \\" "}, [], null]}', '"'],
  ] as const) {
    parse(previous)
    t.equal(Object.keys(parse(body)).at(-1), key, body)
  }
})

t.test('points at a duplicate key', async (t) => {
  t.equal(pointer('{"a":1,"a":1}'), '/a')
  t.equal(pointer('{"a":1,"\\u0061":1}'), '/a')
  t.equal(pointer('{"items":[{"q":1},{"q":1,"p":[],"q":2}]}'), '/items/1/q')
  t.equal(pointer('[[],[0,{"x":{},"x":1}]]'), '/1/1/x')
  t.equal(pointer('{"a/b~c":{"":1,"":2}}'), '/a~1b~0c/')
})

t.test('points at __proto__, however it is written', async (t) => {
  t.equal(pointer('{"__proto__":{"a":1}}'), '/__proto__')
  t.equal(pointer('{"a":{"__prot\\u006f__":1}}'), '/a/__proto__')
})

t.test('points at a lone surrogate in a value or a key', async (t) => {
  t.equal(pointer('{"product":"a\\ud800"}'), '/product')
  t.equal(pointer('["ok","\\udc00\\ud800"]'), '/1')
  t.equal(pointer('{"\\ud800":1}'), '/\ufffd')
})

t.test('points at a NUL in a value or a key, which PostgreSQL cannot store', async (t) => {
  t.equal(pointer('{"product":"a\\u0000"}'), '/product')
  t.equal(pointer('{"a":{"\\u0000":1}}'), '/a/\0')
})

t.test('refuses what is not JSON in UTF-8', async (t) => {
  for (const body of ['{', 'nul', '{"a":1,}', "{'a':1}", '{"a":NaN}', '\ufeff{}', ' ', '{}{}', '"\t"']) {
    t.equal(pointer(body), '', body)
  }
  t.equal(pointer(Buffer.from([0x22, 0xff, 0x22])), '')
  t.equal(pointer(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), '', 'a surrogate in UTF-8')
  t.equal(pointer(Buffer.from([0x22, 0xc0, 0x80, 0x22])), '', 'an overlong form')
})

t.test('refuses depth without running out of stack', async (t) => {
  t.equal(pointer('['.repeat(190_000) + ']'.repeat(190_000)), '')
  t.equal(pointer(`${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`), '')
  t.equal(pointer('['.repeat(390_000)), '')
  t.ok(parseJsonBody(Buffer.from('['.repeat(100) + ']'.repeat(100))))
})
