/**
 * The one place that sends a signal to a process of the product.
 * @returns false if there is no such process
 */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
