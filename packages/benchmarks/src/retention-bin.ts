import { measureRetention } from './measure-retention.ts'

// npm run retention -w packages/benchmarks: the memory that replaced versions of our own modules
// keep.

for (const name of ['@mortise/api-cart', '@mortise/api-purchase']) {
  const { perPackage, perSwitch } = await measureRetention(name, 100)
  const [kept, switched] = [perPackage, perSwitch].map((bytes) => (bytes / 1000).toFixed(1))
  process.stdout.write(`${name}: ${kept} KB per replaced version, ${switched} KB per switch to a known one\n`)
}
