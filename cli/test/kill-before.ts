/** Options of node with which a process kills itself before it gives a file this name. */
export function killBeforeNaming(path: string): string[] {
  return preloading(`
    const real = fs.promises.rename
    fs.promises.rename = (from, to) => {
      if (to === ${JSON.stringify(path)}) process.kill(process.pid, 'SIGKILL')
      return real(from, to)
    }`)
}

/** Options of node with which a process kills itself after it gave a file this name. */
export function killAfterNaming(path: string): string[] {
  return preloading(`
    const real = fs.promises.rename
    fs.promises.rename = async (from, to) => {
      await real(from, to)
      if (to === ${JSON.stringify(path)}) process.kill(process.pid, 'SIGKILL')
    }`)
}

/**
 * Options of node with which a process kills itself before the `count`th time that it gives a file a name, or takes
 * one away: what it leaves behind differs between these moments only.
 */
export function killBefore(count: number): string[] {
  return preloading(`
    let left = ${count}
    for (const name of ['rename', 'link', 'rm']) {
      const real = fs.promises[name]
      fs.promises[name] = (...parameters) => {
        left -= 1
        if (left === 0) process.kill(process.pid, 'SIGKILL')
        return real(...parameters)
      }
    }`)
}

function preloading(code: string): string[] {
  const preload = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    ${code}
    syncBuiltinESMExports()`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}
