import { defineModule } from '@mortise/module-sdk'

/** A tenth, rounded down: the shop gives no fraction of a cent away. */
const tenthOf = (amount) => (amount - (amount % 10)) / 10

export default defineModule('bulk-discount').plugin(async (_app, { contracts }) => {
  contracts.provide('pricing', '1.0.0', {
    *adjust(_caller, lines) {
      const many = lines.filter(({ quantity }) => quantity >= 3)
      return many.map(({ product, lineTotal: { amount, currency } }) => ({
        kind: 'discount',
        id: 'three-of-a-kind',
        label: '10 % off from three of a kind',
        amount: { amount: 0 - tenthOf(amount), currency },
        product,
      }))
    },
  })
})
