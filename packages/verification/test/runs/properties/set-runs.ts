// Loaded into a test of a property before it runs: how many cases it tries, and from which seed.
import fc from 'fast-check'

const { PROPERTY_RUNS: runs, PROPERTY_SEED: seed } = process.env
fc.configureGlobal({ numRuns: Number(runs), seed: Number(seed) })
