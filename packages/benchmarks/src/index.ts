export { type BenchmarkOptions, type Comparison, runBenchmark } from './run-benchmark.ts'
export { type Scenario, scenarios } from './scenarios.ts'
