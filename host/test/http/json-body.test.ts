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
      // JSON.stringify writes digits that a large double does not have: 2 ** 70 is 1180591620717411300000.
      fc.pre(!/"__proto__"|\\u0000|(?<![.\d])\d{16}/.test(JSON.stringify(value)))
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

t.test(
  'points at a number that a double cannot hold, and takes every double as clients write it',
  async (t) => {
    const rounded = [
      '9007199254740993',
      '1.00000000000000000001',
      '0.99999999999999999',
      '1e400',
      '-1e400',
      '1e-400',
    ]
    for (const literal of [
      ...rounded,
      '9007199254740993.0',
      '-9007199254740993',
      '100000000000000000000001',
    ]) {
      t.equal(pointer(`{"items":[{"quantity": ${literal} }]}`), '/items/0/quantity', literal)
      t.equal(pointer(`[1,${literal}]`), '/1', literal)
      t.equal(pointer(literal), '', literal)
    }
    const exact = [
      '0',
      '-0',
      '-0.0',
      '0e5',
      '2.0',
      '2e0',
      '20E-1',
      '0.1',
      '3.141592653589793238462643383279',
      '1e21',
    ]
    for (const literal of [
      ...exact,
      '9007199254740992',
      '1152921504606846976',
      '1.7976931348623157e308',
      '5e-324',
    ]) {
      t.equal(parseJsonBody(Buffer.from(`[${literal}]`))?.toString(), String(Number(literal)), literal)
    }
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
        fc.pre(Math.abs(double) < 1e15 || Math.abs(double) >= 1e21)
        t.equal(Number(parseJsonBody(Buffer.from(JSON.stringify(double)))), double === 0 ? 0 : double)
      }),
    )
  },
)

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
