import { deleteExpired } from '@mortise/module-sdk'
import { giveBackStock, resolveProducts, takeStock } from './catalog.ts'
import { importRoutes, productCheck } from './import/import-routes.ts'
import { failImport, type ImportJob, runImport } from './import/imports.ts'
import { plugin } from './module.ts'
import { productRoutes } from './routes.ts'

export default plugin(async (app, { database, settings, contracts, work, everyMinute, trusts }) => {
  productRoutes(app, database)
  const imports = work<ImportJob>(
    'import',
    { concurrency: 1, timeout: 600_000, onFailed: ({ data, error }) => failImport(data.id, error) },
    ({ data: { id, proof }, signal }) =>
      runImport(database, id, productCheck(app), signal, async () => proof !== undefined && trusts(proof)),
  )
  importRoutes(app, database, imports)
  everyMinute('delete expired', () => deleteExpired('product_import'))
  contracts.provide('catalog', '1.0.0', {
    resolve: (products) => resolveProducts(products, settings.currency),
    take: (lines, held) => takeStock(lines, held, settings.currency),
    giveBack: giveBackStock,
  })
})
