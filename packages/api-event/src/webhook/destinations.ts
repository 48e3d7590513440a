import { lookup as resolveName } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'

type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

export interface DestinationOptions {
  /** Whether `http:` may be used. */
  readonly plainHttp: boolean
  /** Networks that may be reached though they are not public: `10.0.0.0/8`. */
  readonly networks: readonly string[]
  /** The addresses of a name; the operating system's unless given. */
  readonly resolve?: Resolve | undefined
}

/** What is not public of IPv4, by IANA's registry of special-purpose addresses, multicast, and Azure's own host. */
const special = networkList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])
/** Public of IPv6 is what is in the first, and not in the second: there it leads to IPv4, or nowhere. */
const unicast = networkList(['2000::/3'])
const unicastSpecial = networkList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
/** IPv4, written as IPv6. */
const mapped = networkList(['::ffff:0:0/96'])

/**
 * Where webhooks may lead: to public addresses, and those that an operator has allowed. A name is looked up
 * for each connection, and only addresses that were looked at are connected to: what it resolved to before
 * says nothing.
 */
export class Destinations {
  readonly #plainHttp: boolean
  readonly #networks: BlockList
  readonly #resolve: Resolve

  /** @throws {Error} for what is no network */
  constructor({ plainHttp, networks, resolve }: DestinationOptions) {
    this.#plainHttp = plainHttp
    this.#networks = networkList(networks)
    this.#resolve = resolve ?? ((hostname) => resolveName(hostname, { all: true }))
  }

  /** Why nothing is sent to this URL; undefined where it may be, as far as it can be told without looking up a name. */
  refusal({ protocol, hostname, username, password, hash }: URL): string | undefined {
    if (protocol !== 'https:' && !(protocol === 'http:' && this.#plainHttp)) {
      return this.#plainHttp ? 'must begin with https: or http:' : 'must begin with https:'
    }
    if (username !== '' || password !== '' || hash !== '') return 'has no user, password or fragment'
    // The parser has written an IPv4 address in its one form by now, whatever it was sent as.
    const address = hostname.replace(/^\[(.+)\]$/, '$1')
    return isIP(address) !== 0 && !this.#allows(address) ? refused : undefined
  }

  /** The `lookup` of a connection. */
  readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.#resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => this.#allows(address))
        const [first] = allowed
        if (first === undefined) callback(new Error(refused), '')
        else if (all) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, ''),
    )
  }

  #allows(text: string): boolean {
    const address = text.replace(/%.*/, '')
    return isPublic(address) || isIn(this.#networks, address)
  }
}

const refused =
  'leads to an address that is not public: whoever runs the application may allow it by the setting webhookNetworks'

function isPublic(address: string): boolean {
  if (isIP(address) === 4 || isIn(mapped, address)) return !isIn(special, address)
  return isIn(unicast, address) && !isIn(unicastSpecial, address)
}

/** An IPv4 address that is written as IPv6 is in the networks of IPv4 as well. */
const isIn = (networks: BlockList, address: string) =>
  networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** @throws {Error} for what is no network */
function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', length] = network.split('/')
    list.addSubnet(address, Number(length), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
