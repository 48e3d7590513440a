import t from 'tap'
import { type DestinationOptions, Destinations } from '../src/destinations.ts'

const destinationsOf = (options: Omit<DestinationOptions, 'setting'>) =>
  new Destinations({ ...options, setting: 'networks' })
const https = destinationsOf({ plainHttp: false, networks: [] })

/** What a connection to a name gets that has these addresses. */
function connecting(destinations: Destinations, all: boolean) {
  return new Promise((resolve) => {
    destinations.lookup('shop.example', { all }, (error, address, family) =>
      resolve(error ? error.message : all ? address : [address, family]),
    )
  })
}

const inside = [
  'https://localhost/',
  'https://LOCALHOST.:8443/',
  'https://shop.localhost/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://0x7f.1/',
  'https://2130706433/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://%31%32%37.0.0.1/',
  'https://①②⑦.0.0.1/',
  'https://0.0.0.0/',
  'https://10.1.2.3/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data',
  'https://168.63.129.16/',
  'https://172.31.255.255/',
  'https://192.168.1.1:8443/',
  'https://192.0.0.192/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:a00:1]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[64:ff9b:1::10.0.0.1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
]

t.test('an address that is not public is refused, in whatever notation', async (t) => {
  for (const url of inside) t.match(https.refusal(new URL(url)), /not public/, url)
})

t.test('a public address, or a name before its lookup, is not refused', async (t) => {
  for (const url of [
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07::1]/',
    'https://shop.example/',
    'https://localhost.example/',
  ])
    t.equal(https.refusal(new URL(url)), undefined, url)
})

t.test('only allowed networks can be reached, in every notation', async (t) => {
  const some = destinationsOf({ plainHttp: false, networks: ['10.0.0.0/8', 'fd12::/16', '192.168.0.7'] })
  for (const url of [
    'https://10.1.2.3/',
    'https://[::ffff:10.1.2.3]/',
    'https://[fd12::1]/',
    'https://192.168.0.7/',
  ])
    t.equal(some.refusal(new URL(url)), undefined, url)
  for (const url of ['https://11.1.2.3.nip.example/', 'https://93.184.215.14/'])
    t.equal(some.refusal(new URL(url)), undefined, url)
  for (const url of ['https://127.0.0.1/', 'https://[fd13::1]/', 'https://192.168.0.8/'])
    t.match(some.refusal(new URL(url)), /not public/, url)
  for (const network of ['10.0.0.0/33', '10.0.0', 'shop.example/8', 'fd12::/129', ''])
    t.throws(() => destinationsOf({ plainHttp: false, networks: [network] }), network)
})

t.test('http, a user, a password and a fragment are refused', async (t) => {
  t.match(https.refusal(new URL('http://shop.example/')), /https/)
  t.match(https.refusal(new URL('ftp://shop.example/')), /https/)
  const http = destinationsOf({ plainHttp: true, networks: [] })
  t.equal(http.refusal(new URL('http://shop.example/')), undefined)
  for (const url of ['https://ann@shop.example/', 'https://:pw@shop.example/', 'https://shop.example/#a'])
    t.match(https.refusal(new URL(url)), /not have a user/, url)
})

t.test(
  'a connection is made to public addresses of a name alone, and to none where it has no other',
  async (t) => {
    const named = (...addresses: string[]) =>
      destinationsOf({
        plainHttp: false,
        networks: [],
        resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      })
    const both = named('10.0.0.1', '93.184.215.14', '::1')
    t.same(await connecting(both, true), [{ address: '93.184.215.14', family: 4 }])
    t.same(await connecting(both, false), ['93.184.215.14', 4])
    for (const none of [named('127.0.0.1', '::ffff:10.0.0.1', 'fe80::1%eth0'), named()]) {
      none.lookup('shop.example', { all: true }, () => t.fail('a connection would be made'))
      await new Promise(setImmediate)
    }
  },
)
