import Database from 'better-sqlite3'

// Import this before all code that reads the clock. It shifts Date and SQLite's unixepoch.

const RealDate = Date
let ahead = 0
const now = () => RealDate.now() + ahead

/** @param milliseconds ahead of the real time; negative: behind */
export function jumpTo(milliseconds: number): void {
  ahead = milliseconds
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values) => Reflect.construct(target, values.length === 0 ? [now()] : values),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})

const known = new WeakSet<object>()
const { prepare } = Database.prototype
Database.prototype.prepare = function (this: Database.Database, text: string) {
  if (!known.has(this)) this.function('unixepoch', { varargs: true }, () => now() / 1000)
  known.add(this)
  return prepare.call(this, text)
} as typeof prepare
