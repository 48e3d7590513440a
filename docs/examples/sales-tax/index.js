import { defineModule, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'

const Rate = Type.Integer({ minimum: 0, maximum: 10_000, description: 'in hundredths of a percent' })
const settings = Strict({
  standard: Rate,
  others: Type.Record(Type.String(), Rate, { default: {}, description: 'rates of products, by their ids' }),
})

/** Half a cent is rounded up. `BigInt`, since the product is larger than a number can hold exactly. */
const taxOf = (net, rate) => Number((net * BigInt(rate) + 5_000n) / 10_000n)

export default defineModule('sales-tax', { settings }).plugin(async (_app, { contracts, settings }) => {
  const { standard, others } = settings
  const rateOf = ({ product }) => (Object.hasOwn(others, product) ? others[product] : standard)

  contracts.provide('pricing', '1.0.0', {
    /** One tax for each rate, of the sum of its lines: rounding each line would add up. */
    *adjust(_caller, lines) {
      const byRate = Array.from(Map.groupBy(lines, rateOf)).toSorted(([one], [other]) => one - other)
      return byRate.map(([rate, taxed]) => {
        const net = taxed.reduce((sum, { lineTotal }) => sum + BigInt(lineTotal.amount), 0n)
        return {
          kind: 'tax',
          id: `tax-${rate}`,
          label: `${rate / 100} % sales tax`,
          amount: { amount: taxOf(net, rate), currency: taxed[0].lineTotal.currency },
        }
      })
    },
  })
})
