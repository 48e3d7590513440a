import t from 'tap'
import { invalidQuery, parseQuery } from '../../src/http/build-validator.ts'

t.test('decodes names and values', async (t) => {
  t.strictSame(
    { ...parseQuery('a=1&b=x%20y+z&%C3%A9=%26&c&d=') },
    { a: '1', b: 'x y z', é: '&', c: '', d: '' },
  )
  t.strictSame({ ...parseQuery('') }, {})
  t.strictSame({ ...parseQuery('&&a=1&') }, { a: '1' })
  t.strictSame({ ...parseQuery('a=b=c') }, { a: 'b=c' })
})

t.test('inherits no parameter', async (t) => {
  const query = parseQuery('__proto__=x')
  t.equal(Object.getPrototypeOf(query), null)
  t.strictSame(Object.keys(query), ['__proto__'])
})

t.test('notes what is repeated or cannot be decoded', async (t) => {
  const noted = (text: string) =>
    parseQuery(text)[invalidQuery]?.map((part) => 'parameter' in part && part.parameter)
  t.strictSame(noted('a=1&a=1'), ['a'])
  t.strictSame(noted('a=1&%61=2'), ['a'])
  t.strictSame(noted('a=%ZZ&b=%FF&c=%00'), ['a', 'b', 'c'])
  t.strictSame(noted('%ZZ=1'), ['%ZZ'])
  t.equal(noted('a=1&b=1'), undefined)
})
