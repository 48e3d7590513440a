import { StatementCheck } from '@mortise/storage'
import t from 'tap'
import { ContractBoard, inContractOrder } from '../../src/modules/contract-registry.ts'

const check = new StatementCheck(() => '')

const module = (id: string, sides: object = {}) => ({ manifest: { id, ...sides } })
const ids = (modules: { manifest: { id: string } }[]) => modules.map(({ manifest }) => manifest.id)

t.test('providers come before their consumers, others stay in order', async (t) => {
  const shop = [
    module('buy', { requires: { catalog: '^1.0.0' }, optional: { cart: '^1.0.0' } }),
    module('news'),
    module('cart', { provides: { cart: '1.2.0' }, optional: { catalog: '^1.0.0' } }),
    module('catalog', { provides: { catalog: '1.0.0' } }),
  ]
  t.same(ids(inContractOrder(shop)), ['catalog', 'cart', 'buy', 'news'])
  t.same(ids(inContractOrder(shop.toReversed())), ['catalog', 'cart', 'news', 'buy'])
})

t.test('a required contract must be there, in range, once, and without circles', async (t) => {
  const user = module('user', { requires: { catalog: '^2.0.0' } })
  const v1 = module('v1', { provides: { catalog: '1.0.0' } })
  const v2 = module('v2', { provides: { catalog: '2.1.0' } })
  const other = module('other', { provides: { catalog: '2.0.0' } })
  t.throws(() => inContractOrder([user]), { module: 'user', message: /requires the contract "catalog"/ })
  t.throws(() => inContractOrder([user, v1]), { module: 'user', message: /requires/ })
  t.same(ids(inContractOrder([user, v2])), ['v2', 'user'])
  t.throws(() => inContractOrder([v1, v2]), { module: 'v2', message: /which v1 also provides/ })
  t.throws(() => inContractOrder([user, v2, other]), { module: 'other', message: /which v2 also provides/ })
  const a = module('a', { provides: { a: '1.0.0' }, requires: { b: '*' } })
  const b = module('b', { provides: { b: '1.0.0' }, requires: { a: '*' } })
  t.throws(() => inContractOrder([a, b]), { message: /circle/ })
})

t.test('one module operates the application, at most', async (t) => {
  const [desk, helm] = [module('desk', { operator: true }), module('helm', { operator: true })]
  t.same(ids(inContractOrder([module('cart'), desk])), ['cart', 'desk'])
  t.throws(() => inContractOrder([desk, helm]), { module: 'helm', message: /and so does desk/ })
})

t.test('a missing optional contract, or one out of range, is undefined', async (t) => {
  const board = new ContractBoard()
  const registry = board.registryFor({ id: 'user', optional: { catalog: '^2.0.0' } }, check)
  t.equal(registry.get('catalog' as never), undefined)
  board
    .registryFor({ id: 'v1', provides: { catalog: '1.0.0' } }, check)
    .provide('catalog' as never, '1.0.0', {} as never)
  t.equal(registry.get('catalog' as never), undefined)
  const implementation = { price: () => 1 }
  board
    .registryFor({ id: 'v2', provides: { catalog: '2.0.0' } }, check)
    .provide('catalog' as never, '2.0.0', implementation as never)
  t.equal((registry.get('catalog' as never) as unknown as typeof implementation).price(), 1)
})

t.test('a required contract is there, or the message says what is missing', (t) => {
  const board = new ContractBoard()
  const user = board.registryFor(
    { id: 'user', requires: { catalog: '^2.0.0' }, optional: { cart: '*' } },
    check,
  )
  t.throws(() => user.required('catalog' as never), {
    module: 'user',
    message: /does not call contracts.provide/,
  })
  t.throws(() => user.required('cart' as never), { message: /must list it in "requires"/ })
  const implementation = { price: () => 1 }
  board
    .registryFor({ id: 'v2', provides: { catalog: '2.0.0' } }, check)
    .provide('catalog' as never, '2.0.0', implementation as never)
  t.equal((user.required('catalog' as never) as typeof implementation).price(), 1)
  t.end()
})

t.test('only what the manifest declares can be offered or used', async (t) => {
  const registry = new ContractBoard().registryFor({ id: 'x' }, check)
  t.throws(() => registry.get('catalog' as never), { module: 'x', message: /does not name/ })
  t.throws(() => registry.provide('catalog' as never, '1.0.0', {} as never), {
    module: 'x',
    message: /its manifest does not name/,
  })
})
