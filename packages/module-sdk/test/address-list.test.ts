import t from 'tap'
import { AddressList } from '../src/address-list.ts'

t.test('a list has addresses and ranges, IPv4 also where it comes as IPv6', async (t) => {
  const list = new AddressList(['10.0.0.0/8', '::1'])
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '::1']) t.ok(list.has(address), address)
  for (const address of ['11.0.0.1', '::2', '', 'unknown']) t.notOk(list.has(address), address)
})
