import { lookup as resolveName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { AddressList } from './address-list.ts'

type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

/** Where requests to addresses that callers name may go. */
export interface DestinationOptions {
  /** Whether `http:` is allowed. */
  readonly plainHttp: boolean
  /** Allowed networks that are not public: `10.0.0.0/8`. */
  readonly networks: readonly string[]
  /** The setting of the module with `networks`, for the error messages. */
  readonly setting: string
  /** Resolves a name to addresses. The default is the operating system's resolver. */
  readonly resolve?: Resolve | undefined
}

/** Not public: IANA's special-purpose addresses, multicast, and the Azure host's address. */
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
/** Public IPv6 is in the first list, and not in the second, which leads to IPv4 or nowhere. */
const unicast = new AddressList(['2000::/3'])
const unicastSpecial = new AddressList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
/** Names that always mean this machine (RFC 6761, 6.3). */
const isLocalhost = /(?:^|\.)localhost\.?$/
/** IPv4-mapped IPv6 addresses. */
const mapped = new AddressList(['::ffff:0:0/96'])

/**
 * The allowed destinations of requests to addresses that callers name: public addresses, and those
 * that the operator allows. See `fetchPublic`. Each connection resolves its name and uses only addresses that it checked, because an earlier result
 * proves nothing.
 *
 * Callers must not learn the names of an internal network. So a name that does not resolve, a name
 * without an allowed address, and a host that does not respond look the same, in the message and in
 * time.
 */
export class Destinations {
  readonly #plainHttp: boolean
  readonly #networks: AddressList
  readonly #setting: string
  readonly #resolve: Resolve

  /** @throws {Error} if an entry is not a network */
  constructor({ plainHttp, networks, setting, resolve }: DestinationOptions) {
    this.#plainHttp = plainHttp
    this.#networks = new AddressList(networks)
    this.#setting = setting
    this.#resolve = resolve ?? ((hostname) => resolveName(hostname, { all: true }))
  }

  /** Undefined if the URL is allowed, as far as that is known without resolving its name. */
  refusal({ protocol, hostname, username, password, hash }: URL): string | undefined {
    if (protocol !== 'https:' && !(protocol === 'http:' && this.#plainHttp)) {
      return this.#plainHttp ? 'must begin with https: or http:' : 'must begin with https:'
    }
    if (username !== '' || password !== '' || hash !== '') return 'must not have a user, password or fragment'
    // The URL parser has normalized every form of an IPv4 address.
    const address = hostname.replace(/^\[(.+)\]$/, '$1')
    const addresses = isLocalhost.test(hostname) ? ['127.0.0.1', '::1'] : isIP(address) === 0 ? [] : [address]
    if (addresses.length === 0 || addresses.some((one) => this.#allows(one))) return undefined
    return `resolves to an address that is not public: the operator can allow it with the setting ${this.#setting}`
  }

  /** The error of a name without an allowed address. */
  get unreachable(): string {
    return `not sent: the name does not resolve to a public address (or to one in the setting ${this.#setting})`
  }

  /** Returns only allowed addresses; for other names it never calls back. */
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

function isPublic(address: string): boolean {
  if (isIP(address) === 4 || mapped.has(address)) return !special.has(address)
  return unicast.has(address) && !unicastSpecial.has(address)
}
