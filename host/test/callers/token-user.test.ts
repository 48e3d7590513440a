import t from 'tap'
import { userOf } from '../../src/callers/token-user.ts'

const issuer = 'urn:i'
const scopes = ['purchase:read', 'purchase:manage', 'admin']

/** Those of `scopes` that the user has. */
function scopesOf(claims: object, rule: object = {}): string[] {
  const user = userOf({ sub: 'ann', ...claims }, { issuer, ...rule }, '{}')
  return scopes.filter((scope) => user.has(scope))
}

const refused = { status: 401, code: 'unauthorized' }

t.test('scopes are in scope, else in scp: words with blanks between, or a list', async (t) => {
  const expected = ['purchase:read', 'purchase:manage']
  for (const name of ['scope', 'scp']) {
    t.same(scopesOf({ [name]: ' purchase:read  purchase:manage ' }), expected)
    t.same(scopesOf({ [name]: expected }), expected)
    t.same(scopesOf({ [name]: '' }), [])
    t.same(scopesOf({ [name]: [] }), [])
    for (const wrong of [['purchase:read purchase:manage'], ['admin', ''], ['a"b'], 'admin\tb'])
      t.throws(() => scopesOf({ [name]: wrong }), { ...refused, message: /claim scope/ })
    for (const wrong of [null, 1, {}, ['purchase:read', 1], [['admin']], { 0: 'admin', length: 1 }])
      t.throws(() => scopesOf({ [name]: wrong }), { ...refused, message: /claim scope/ })
  }
  t.same(scopesOf({ scope: 'purchase:read', scp: ['admin'] }), ['purchase:read'], 'scope alone where it is')
  t.same(scopesOf({}), [])
  t.same(scopesOf({ roles: ['admin'], permissions: ['admin'], groups: 'admin' }), [])
})

t.test('with a mapping, only its entries give scopes', async (t) => {
  const rule = {
    scopes: { 'shop-staff': ['purchase:read', 'purchase:manage'], nobody: [], 'ad min': ['admin'] },
  }
  t.same(scopesOf({ scope: 'shop-staff nobody' }, rule), ['purchase:read', 'purchase:manage'])
  t.same(scopesOf({ scope: 'admin purchase:read' }, rule), [], 'not what the issuer calls alike')
  t.same(scopesOf({ scp: ['ad min'] }, rule), scopes)
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
    t.same(scopesOf({ scope: name }, rule), [])
  t.same(scopesOf({ scope: 'shop-staff' }, { scopes: {} }), [])
})

t.test('scopes are where the rule says, by name or by JSON Pointer, and nowhere else', async (t) => {
  const translated = { scopes: { staff: ['purchase:read'], boss: ['admin'] } }
  const at = (scope: string) => ({ ...translated, claims: { scope } })
  t.same(scopesOf({ permissions: ['staff'], scope: 'boss' }, at('permissions')), ['purchase:read'])
  t.same(scopesOf({ realm_access: { roles: ['staff'] } }, at('/realm_access/roles')), ['purchase:read'])
  t.same(scopesOf({ 'https://shop.example/roles': 'staff' }, at('https://shop.example/roles')), [
    'purchase:read',
  ])
  t.same(scopesOf({ resource: { 'a/b~c': ['boss'] } }, at('/resource/a~1b~0c')), scopes)
  for (const claims of [
    {},
    { realm_access: null },
    { realm_access: 'staff' },
    { realm_access: { role: 'staff' } },
  ])
    t.same(scopesOf(claims, at('/realm_access/roles')), [])
  t.same(scopesOf({ realm_access: {} }, at('/realm_access/constructor/name')), [])
  t.throws(() => scopesOf({ realm_access: { roles: { staff: true } } }, at('/realm_access/roles')), refused)
})

t.test('a configured claim gives the subject, with the usual rules', async (t) => {
  const idOf = (claims: object, subject: string) =>
    userOf({ sub: 'pairwise', ...claims }, { issuer, claims: { subject } }, '{}').id
  t.equal(idOf({ oid: '6f1c' }, 'oid'), 'user:urn%3Ai:6f1c')
  t.equal(idOf({ user: { id: 'ann' } }, '/user/id'), 'user:urn%3Ai:ann')
  for (const oid of [undefined, '', 7, null, ['ann'], 'x'.repeat(256), 'a\u0000'])
    t.throws(() => idOf({ oid }, 'oid'), { ...refused, message: /subject/ })
})
