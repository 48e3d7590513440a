import t from 'tap'
import { failsMore, isModuleFailure, ResponseCounts } from '../../src/generations/response-counts.ts'

const of = (failed: number, all: number) => ({ failed, all })

t.test('a change is reverted from five failures on, if more than 5 % of responses fail', async (t) => {
  const none = of(0, 0)
  t.equal(failsMore(none, of(4, 4)), false, 'too few')
  t.equal(failsMore(none, of(5, 5)), true)
  t.equal(failsMore(none, of(5, 99)), true)
  t.equal(failsMore(none, of(5, 100)), false, 'exactly 5 %')
})

t.test('a module that failed before may fail at twice its previous rate', async (t) => {
  t.equal(failsMore(of(10, 100), of(20, 100)), false)
  t.equal(failsMore(of(10, 100), of(21, 100)), true)
  t.equal(failsMore(of(50, 100), of(100, 100)), false)
})

t.test('only failures of the module itself count against it', async (t) => {
  t.equal(isModuleFailure(500, undefined), true)
  t.equal(isModuleFailure(500, 'internal-error'), true)
  t.equal(isModuleFailure(502, undefined), true)
  t.equal(isModuleFailure(500, 'outcome-unknown'), false)
  t.equal(isModuleFailure(503, 'database-unavailable'), false)
  t.equal(isModuleFailure(429, 'rate-limited'), false)
})

t.test('responses are counted for each module', async (t) => {
  const responses = new ResponseCounts()
  responses.count('cart', true)
  responses.count('cart', false)
  responses.count('purchase', false)
  t.strictSame(responses.of('cart'), of(1, 2))
  t.strictSame(responses.of('purchase'), of(0, 1))
  t.strictSame(responses.of('nobody'), of(0, 0))
})
