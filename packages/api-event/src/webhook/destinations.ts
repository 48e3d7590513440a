import { lookup as resolveName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { AddressList } from '@mortise/module-sdk'

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
const special = new AddressList([
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
const unicast = new AddressList(['2000::/3'])
const unicastSpecial = new AddressList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
/** Names that are this machine's wherever they are looked up (RFC 6761, 6.3). */
const isLocalhost = /(?:^|\.)localhost\.?$/
/** IPv4, written as IPv6. */
const mapped = new AddressList(['::ffff:0:0/96'])

/**
 * Where webhooks may lead: to public addresses, and those that an operator has allowed. A name is looked up
 * for each connection, and only addresses that were looked at are connected to: what it resolved to before
 * says nothing.
 *
 * Callers must not learn which names there are inside. So a name that does not resolve, one that leads to no allowed
 * address, and one that nobody answers for are one and the same, in what is said and in how long it takes.
 */
export class Destinations {
  readonly #plainHttp: boolean
  readonly #networks: AddressList
  readonly #resolve: Resolve

  /** @throws {Error} for what is no network */
  constructor({ plainHttp, networks, resolve }: DestinationOptions) {
    this.#plainHttp = plainHttp
    this.#networks = new AddressList(networks)
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
    const addresses = isLocalhost.test(hostname) ? ['127.0.0.1', '::1'] : isIP(address) === 0 ? [] : [address]
    return addresses.length > 0 && !addresses.some((one) => this.#allows(one)) ? refused : undefined
  }

  /** The `lookup` of a connection: it answers with allowed addresses, or not at all. */
  readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.#resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => this.#allows(address))
        const [first] = allowed
        if (first === undefined) return
        if (all) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      () => {},
    )
  }

  #allows(text: string): boolean {
    const address = text.replace(/%.*/, '')
    return isPublic(address) || this.#networks.has(address)
  }
}

/** Why there was no answer where a name has no address that may be reached. */
export const unreachable =
  'not sent: the name does not resolve to a public address (or to one that the setting webhookNetworks allows)'

const refused =
  'leads to an address that is not public: whoever runs the application may allow it by the setting webhookNetworks'

function isPublic(address: string): boolean {
  if (isIP(address) === 4 || mapped.has(address)) return !special.has(address)
  return unicast.has(address) && !unicastSpecial.has(address)
}
