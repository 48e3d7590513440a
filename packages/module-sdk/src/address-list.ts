import { BlockList, isIP, isIPv6 } from 'node:net'

/** Addresses and CIDR ranges. An IPv4-mapped IPv6 address matches the IPv4 ranges too. */
export class AddressList {
  readonly #list = new BlockList()

  /** @throws {Error} if an entry is neither an address nor a CIDR range */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  has(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}
