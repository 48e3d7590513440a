import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { mintToken } from '../../src/callers/mint-token.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'

const own = { issuer: 'urn:app', secret: Buffer.alloc(32, 1) }

t.test('minted tokens verify', async (t) => {
  const token = await mintToken({
    ...own,
    subject: 'ann',
    scopes: ['purchase:read', 'admin'],
    expiresIn: '15m',
  })
  const user = await createTokenVerifier({ issuers: [own] }).verify(token)
  t.equal(user.id, 'user:urn%3Aapp:ann')
  t.ok(user.has('admin'))
  const { iat = 0, exp } = decodeJwt(token)
  t.equal(exp, iat + 900)
  t.strictSame(decodeProtectedHeader(token), { alg: 'HS256', typ: 'JWT' })
})

t.test('two tokens of the same second differ: each may be used once', async (t) => {
  const tokens = await Promise.all([1, 2].map(() => mintToken({ ...own, subject: 'ann', expiresIn: '1m' })))
  t.equal(new Set(tokens).size, 2)
})

t.test('a token without scope has no such claim', async (t) => {
  const token = await mintToken({ ...own, subject: 'ann', expiresIn: '1d' })
  t.notOk(Object.hasOwn(decodeJwt(token), 'scope'))
})

t.test('wrong values are refused, each with its reason', async (t) => {
  const right = { ...own, subject: 'ann', expiresIn: '1h' }
  const wrong: [object, RegExp][] = [
    [{ subject: '' }, /subject must have 1 to 255/],
    [{ subject: 'a\nb' }, /subject/],
    [{ subject: 'x'.repeat(256) }, /subject/],
    [{ scopes: [''] }, /not a scope/],
    [{ scopes: ['purchase:read', 'deploy admin'] }, /"deploy admin" is not a scope/],
    [{ scopes: ['a"b'] }, /scope/],
    ...['', '0h', '-1h', '1', 'h', '1.5h', '1h ago', '1 h', '1000000y', 'never'].map(
      (expiresIn): [object, RegExp] => [{ expiresIn }, /not a lifetime/],
    ),
  ]
  for (const [value, message] of wrong) {
    await t.rejects(mintToken({ ...right, ...value }), { name: 'TypeError', message }, JSON.stringify(value))
  }
})
