import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineModule } from '@mortise/module-sdk'
import { createTestHost } from '@mortise/module-testkit'
import { Type } from '@sinclair/typebox'
import type { CartContract } from '../src/contract.ts'
import cart from '../src/index.ts'
import { CartItem } from '../src/schemas.ts'
import { testOnEngines } from './cart-host.ts'

const manifest = { id: 'wishlist', host: '*', routes: ['POST /move'], requires: { cart: '^1' } }
const Moved = Type.Object({ added: Type.Boolean(), item: CartItem })
const wishlist = defineModule('wishlist').plugin(async (app, { contracts }) => {
  const body = Type.Object({ product: Type.String(), quantity: Type.Integer() })
  app.post('/move', { config: { access: 'caller' }, schema: { body, response: { 200: Moved } } }, (request) =>
    request.transaction(() => (contracts.get('cart') as CartContract).add(request.caller, request.body)),
  )
})

testOnEngines('another module adds to the cart in its own transaction', async (t) => {
  const directory = t.testdir({})
  await writeFile(
    join(directory, 'package.json'),
    JSON.stringify({
      name: 'wishlist',
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      mortise: manifest,
    }),
  )
  await writeFile(join(directory, 'index.js'), '')
  const host = await createTestHost(t, {
    modules: [
      { directory: fileURLToPath(new URL('..', import.meta.url)), plugin: cart },
      { directory, plugin: wishlist },
    ],
  })
  const ann = host.user('ann')
  const moved = await ann.post('/move', { product: 'tea', quantity: 2 })
  t.match(moved.json(), { added: true, item: { product: 'tea', quantity: 2 } })
  t.match((await ann.get('/cart')).json(), { items: [{ product: 'tea', quantity: 2 }] })
  const refused = await ann.post('/move', { product: 'tea', quantity: 9999 })
  t.match([refused.statusCode, refused.json().code], [409, 'quantity-limit'])
  t.match((await ann.get('/cart')).json(), { items: [{ product: 'tea', quantity: 2 }] })
})
