import t from 'tap'
import { addressKey } from '../src/forms.ts'

t.test('an IPv4 address stands for itself, however it is written', async (t) => {
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:192.0.2.7', '0:0:0:0:0:ffff:192.0.2.7'])
    t.equal(addressKey(address), '192.0.2.7', address)
})

t.test('an IPv6 address stands for its /64', async (t) => {
  const keys = {
    '2001:db8:0:1:2:3:4:5': '2001:db8:0:1',
    '2001:DB8:0000:0001::9': '2001:db8:0:1',
    '2001:db8::1:2:3:4:5': '2001:db8:0:1',
    '2001:db8:0:2::': '2001:db8:0:2',
    '2001:db8::': '2001:db8:0:0',
    '::1': '0:0:0:0',
    '::': '0:0:0:0',
    'fe80::1%eth0': 'fe80:0:0:0',
    '64:ff9b::192.0.2.7': '64:ff9b:0:0',
    '1:2:3:4:5:6:192.0.2.7': '1:2:3:4',
  }
  for (const [address, key] of Object.entries(keys)) t.equal(addressKey(address), key, address)
})

t.test('the port that a proxy forwards is left out', async (t) => {
  const keys = {
    '192.0.2.7:5555': '192.0.2.7',
    '[2001:db8::1]:99': '2001:db8:0:0',
    '[2001:db8::1]': '2001:db8:0:0',
    '[::ffff:192.0.2.7]:99': '192.0.2.7',
  }
  for (const [address, key] of Object.entries(keys)) t.equal(addressKey(address), key, address)
})

t.test('values that are not an address share one key', async (t) => {
  for (const text of ['', 'unknown', '1.2.3', '1.2.3.4.5', '1.2.3:4', '1.2.3.4:', '[x]:1', 'a'.repeat(5000)])
    t.equal(addressKey(text), 'unknown')
})
