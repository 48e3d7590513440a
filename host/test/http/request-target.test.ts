import t from 'tap'
import { requestTarget } from '../../src/http/request-head.ts'

t.test('leaves alone what can be decoded', async (t) => {
  for (const target of [
    '/',
    '/cart?page=1',
    '/cart/item/a%20b%2Fc',
    '/x?y=%ZZ',
    '/caf%C3%A9',
    '//cart',
    '/x#%ZZ',
  ]) {
    t.equal(requestTarget({ url: target }), target)
  }
})

t.test('escapes the percent signs of a segment that cannot be decoded, and of no other', async (t) => {
  t.equal(requestTarget({ url: '/cart%20x/item/%ZZ?a=%ZZ' }), '/cart%20x/item/%25ZZ?a=%ZZ')
  t.equal(requestTarget({ url: '/cart/item/%FF' }), '/cart/item/%25FF')
  t.equal(requestTarget({ url: '/cart/item/%' }), '/cart/item/%25')
  t.equal(requestTarget({ url: '/cart/item/%2' }), '/cart/item/%252')
  t.equal(
    requestTarget({ url: '/cart/item/a%00b' }),
    '/cart/item/a%2500b',
    'NUL too: not every database takes it',
  )
})

t.test('takes the path out of the absolute form', async (t) => {
  t.equal(requestTarget({ url: 'http://host:1/cart?x=1' }), '/cart?x=1')
  t.equal(requestTarget({ url: 'HTTPS://host/cart' }), '/cart')
  t.equal(requestTarget({ url: 'http://host' }), '/')
  t.equal(requestTarget({ url: 'http://host?x=1' }), '/?x=1')
})

t.test('other names become paths', async (t) => {
  t.equal(requestTarget({ url: '*' }), '/*')
  t.equal(requestTarget({ url: 'host:443' }), '/host%3A443')
})

t.test('below a base path, metadata about a URL lead to the module', async (t) => {
  const target = (url: string) => requestTarget({ url }, '/api')
  t.equal(target('/.well-known/thing/api/mcp?a=1'), '/api/.well-known/thing/mcp?a=1')
  t.equal(target('/.well-known/thing/api'), '/api/.well-known/thing')
  t.equal(target('/.well-known/thing/api?a=1'), '/api/.well-known/thing?a=1')
  t.equal(target('https://shop.example/.well-known/thing/api/mcp'), '/api/.well-known/thing/mcp')
  for (const other of [
    ...[
      '/.well-known/thing/apis',
      '/.well-known/thing',
      '/.well-known/api',
      '/.well-known//api',
      '/x/.well-known/a/api',
    ],
    ...['/.well-known/', '/.well-known', '/api/.well-known/thing/mcp'],
  ])
    t.equal(target(other), other)
  t.equal(requestTarget({ url: '/.well-known/thing/mcp' }), '/.well-known/thing/mcp')
})
