/** What no generated request shows: for the tests of the module, and a reader. */
export const unchecked: readonly string[] = [
  'rules of the business: prices, quantities, states that may follow each other',
  'times of your own: time zones, calendars, clocks that differ',
  'other systems: what they respond, and what becomes of a call that fails halfway',
  'more than one host at a time, and writes with more than some hundred rows',
]
