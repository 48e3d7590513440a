import t from 'tap'
import { parseIdempotencyKey } from '../../src/http/idempotency-key.ts'

t.test('a key is the same bare and quoted', (t) => {
  const keys: [string, string][] = [
    ['a', 'a'],
    ['"a"', 'a'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['!~a,b;c=d', '!~a,b;c=d'],
    ['a"b', 'a"b'],
    ['"a\\"b"', 'a"b'],
    ['a\\b', 'a\\b'],
    ['"a\\\\b"', 'a\\b'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ]
  for (const [header, key] of keys) t.equal(parseIdempotencyKey(header), key, header)
  t.end()
})

t.test('an invalid key is refused with a hint', (t) => {
  const wrong = [
    '',
    '""',
    '"',
    '"a',
    'a b',
    '"a b"',
    'a, a',
    '"a", "a"',
    '"a"b"',
    '"a\\b"',
    '"a";x=1',
    'ä',
    'a\tb',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
  ]
  for (const header of wrong) {
    t.throws(
      () => parseIdempotencyKey(header),
      {
        code: 'invalid-request',
        status: 400,
        members: { errors: [{ parameter: 'Idempotency-Key', detail: /1 to 255 visible ASCII/ }] },
      },
      header,
    )
  }
  t.throws(() => parseIdempotencyKey(['a', 'b']), /Idempotency-Key is invalid/)
  t.end()
})
