import { lookup as resolveName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ReturnType<typeof ipaddr.parse>
type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

export interface DestinationOptions {
  /** Whether `http:` may be used. */
  readonly plainHttp: boolean
  /** Networks that may be reached though they are not public: `10.0.0.0/8`. */
  readonly networks: readonly string[]
  /** The addresses of a name; the operating system's unless given. */
  readonly resolve?: Resolve | undefined
}

/** What IPv6 has as public addresses; the older ones for IPv4, such as `::127.0.0.1`, are outside of it. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')
/** Public by its number, and the machine itself on Azure. */
const azureHost = '168.63.129.16'

/**
 * Where webhooks may lead: to public addresses, and those that an operator has allowed. A name is looked up
 * for each connection, and only addresses that were looked at are connected to: what it resolved to before
 * says nothing.
 */
export class Destinations {
  readonly #plainHttp: boolean
  readonly #networks: readonly [Address, number][]
  readonly #resolve: Resolve

  /** @throws {Error} for what is no network */
  constructor({ plainHttp, networks, resolve }: DestinationOptions) {
    this.#plainHttp = plainHttp
    this.#networks = networks.map((network) => ipaddr.parseCIDR(network))
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
    const address = ipaddr.process(text)
    return isPublic(address) || this.#networks.some((network) => matches(address, network))
  }
}

const refused = 'leads to an address that is not public, or not for this: see the setting webhookNetworks'

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv6' ? address.match(globalUnicast) : address.toString() !== azureHost
}

const matches = (address: Address, network: [Address, number]) =>
  address.kind() === network[0].kind() && address.match(network)
