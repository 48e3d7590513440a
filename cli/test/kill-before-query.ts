/** Options of node with which a process kills itself before it sends its `count`th query to PostgreSQL. */
export function killBeforeQuery(count: number): string[] {
  const preload = `
    import { createRequire } from 'node:module'
    const { Client } = createRequire(${JSON.stringify(import.meta.url)})('pg')
    const real = Client.prototype.query
    let left = ${count}
    Client.prototype.query = function (...parameters) {
      left -= 1
      if (left === 0) process.kill(process.pid, 'SIGKILL')
      return real.apply(this, parameters)
    }`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}
