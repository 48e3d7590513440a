import { BlockList, isIP, isIPv6 } from 'node:net'

/** Addresses and CIDR ranges. An IPv4 address that is written as IPv6 is in those of IPv4 too. */
export class AddressList {
  readonly #list = new BlockList()

  /** @throws {Error} for what is neither */
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
