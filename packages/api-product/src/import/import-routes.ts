import { Readable } from 'node:stream'
import {
  Binary,
  type Database,
  IdParams,
  invalidRequest,
  type ModuleInstance,
  type Problem,
  respond,
  type Work,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { responses } from '../module.ts'
import { allProducts } from '../repository.ts'
import { Import, ImportedProduct, NewImport, type NewProduct, type Product } from '../schemas.ts'
import { invalidCurrencies, toProduct } from '../service.ts'
import { csvHeader, toCsv } from './csv.ts'
import { type ImportJob, showImport, startImport } from './imports.ts'
import { toJsonLine } from './json-lines.ts'
import { type Check, textOf } from './read-products.ts'

/** The routes of imports and exports, for managers. */
export function importRoutes(app: ModuleInstance, database: Database, work: Work<ImportJob>): void {
  const config = { access: 'product:manage' } as const

  app.post(
    '/product/import',
    {
      config,
      schema: {
        summary: 'Import a file of products',
        body: NewImport,
        response: { 202: Import, ...responses('invalid-request') },
      },
    },
    (request) => {
      assertText(request.body.file.bytes)
      return request.transaction(function* () {
        const started = yield* startImport(request.body)
        yield* work.add({ id: started.id, proof: request.caller.proof })
        return respond(202, started, { location: `/product/import/${started.id}` })
      })
    },
  )

  app.get(
    '/product/import/:id',
    {
      config,
      schema: {
        summary: 'Get the progress and the errors of an import',
        params: IdParams,
        response: { 200: Import, ...responses('import-not-found') },
      },
    },
    ({ params }) => database.snapshot(() => showImport(params.id)),
  )

  for (const [format, { type, head, lineOf }] of Object.entries(exports)) {
    app.get(
      `/product/export/${format}`,
      {
        config,
        schema: {
          summary: `Export all products as ${type}`,
          response: { 200: { ...Binary(type), headers: { 'Content-Disposition': FileName } } },
        },
      },
      async (_request, reply) => {
        reply.type(`${type}; charset=utf-8`)
        reply.header('content-disposition', `attachment; filename="products.${format}"`)
        return Readable.from(linesOf(database, head, lineOf))
      },
    )
  }
}

const FileName = Type.String({ description: 'the name of the file' })

const exports = {
  csv: { type: 'text/csv', head: csvHeader, lineOf: toCsv },
  jsonl: {
    type: 'application/jsonl',
    head: '',
    lineOf: toJsonLine,
  },
}

/** @throws {Problem} `invalid-request` */
function assertText(bytes: Uint8Array): void {
  try {
    textOf(bytes)
  } catch {
    const detail =
      'must be text in UTF-8, or in UTF-16 with a byte order mark: in Excel save it as "CSV UTF-8", elsewhere choose UTF-8'
    throw invalidRequest({ pointer: '/file', detail })
  }
}

async function* linesOf(database: Database, head: string, lineOf: (product: Product) => string) {
  if (head !== '') yield head
  let after = ''
  for (
    let rows = await allProducts(database, after);
    rows.length > 0;
    rows = await allProducts(database, after)
  ) {
    yield rows.map((row) => lineOf(toProduct(row))).join('')
    after = rows.at(-1)?.id as string
  }
}

/** Checks a value as POST /product does. Call it once the module serves. */
export function productCheck(app: ModuleInstance): Check {
  const validate = app.validatorCompiler?.({
    schema: ImportedProduct,
    method: 'POST',
    url: '/product',
    httpPart: 'body',
  } as never)
  return (value) => {
    const result: unknown = validate?.(value)
    if (result === true) return invalidCurrencies(value as NewProduct)
    const { error } = result as { error: Problem }
    return error.members.errors as ReturnType<Check>
  }
}
