export { type BenchmarkOptions, type Comparison, runBenchmark } from './run-benchmark.ts'
