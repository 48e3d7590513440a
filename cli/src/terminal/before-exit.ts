/** What a process that has run a command waits for before it exits: no child process outlives it. */
export const beforeExit = new Set<() => Promise<void>>()
