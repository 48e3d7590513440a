// node load.js <url of the host> <token with product:manage>: creates the products of the sample of api-product. Products
// that are there already stay as they are, so it can run again.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const [url, token] = process.argv.slice(2)
if (!token) {
  console.error('Write: node load.js <url of the host> <token with the scope product:manage>')
  process.exit(2)
}
const sample = join(import.meta.dirname, '../../../packages/api-product/sample.jsonl')
const lines = (await readFile(sample, 'utf8')).trim().split('\n')
const counts = { 201: 0, 409: 0 }
for (const body of lines) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/product`, { method: 'POST', headers, body })
  if (!(response.status in counts)) {
    console.error(`${url} refused ${body}: ${response.status} ${await response.text()}`)
    process.exit(1)
  }
  counts[response.status] += 1
}
console.log(`${counts[201]} products created, ${counts[409]} were there already`)
