import t from 'tap'
import { nearest } from '../../src/config/closest-names.ts'

const known = ['api-cart', 'api-purchase', 'api-product']

t.test('a typing error is a near match', async (t) => {
  t.strictSame(nearest('api-crat', known), ['api-cart'])
  t.strictSame(nearest('ap-cart', known), ['api-cart'])
  t.strictSame(nearest('api-purchaes', known), ['api-purchase'])
})

t.test('a part of a name, or a longer name, is a near match', async (t) => {
  t.strictSame(nearest('cart', known), ['api-cart'])
  t.strictSame(nearest('@acme/api-cart', known), ['api-cart'])
})

t.test('near matches are sorted and unique', async (t) => {
  t.strictSame(nearest('aaac', ['aabb', 'aaab', 'aaab']), ['aaab', 'aabb'])
})

t.test('an unrelated word has no near match', async (t) => {
  t.strictSame(nearest('weather-report', known), [])
  t.strictSame(nearest('x', known), [])
})
