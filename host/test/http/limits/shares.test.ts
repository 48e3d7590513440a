import t from 'tap'
import { AddressList } from '../../../src/http/limits/address-list.ts'
import { Shares } from '../../../src/http/limits/shares.ts'

t.test('an address has its share, and a /64 is one address', async (t) => {
  const shares = new Shares(2)
  const giveBack = shares.take('2001:db8::1')
  t.type(giveBack, 'function')
  t.type(shares.take('2001:db8::2'), 'function')
  t.equal(shares.take('2001:db8::3'), undefined)
  t.type(shares.take('2001:db8:0:1::1'), 'function')
  giveBack?.()
  t.type(shares.take('2001:db8::3'), 'function')
  t.equal(shares.take('2001:db8::1'), undefined)
})

t.test('a list has addresses and ranges, IPv4 also where it comes as IPv6', async (t) => {
  const list = new AddressList(['10.0.0.0/8', '::1'])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::1']) t.ok(list.has(address), address)
  for (const address of ['11.0.0.1', '::2', '', 'unknown']) t.notOk(list.has(address), address)
})
