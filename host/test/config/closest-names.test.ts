import t from 'tap'
import { nearest } from '../../src/config/closest-names.ts'

const known = ['api-cart', 'api-purchase', 'api-product']

t.test('a slip of the finger is near its word', async (t) => {
  t.strictSame(nearest('api-crat', known), ['api-cart'])
  t.strictSame(nearest('ap-cart', known), ['api-cart'])
  t.strictSame(nearest('api-purchaes', known), ['api-purchase'])
})

t.test('a part of a name, or a name with more around it, is near it', async (t) => {
  t.strictSame(nearest('cart', known), ['api-cart'])
  t.strictSame(nearest('@acme/api-cart', known), ['api-cart'])
})

t.test('the nearest comes first, and each once', async (t) => {
  t.strictSame(nearest('aaac', ['aabb', 'aaab', 'aaab']), ['aaab', 'aabb'])
})

t.test('another word is near to none', async (t) => {
  t.strictSame(nearest('weather-report', known), [])
  t.strictSame(nearest('x', known), [])
})
