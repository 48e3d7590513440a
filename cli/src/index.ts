export { app } from './app.ts'
export type { TerminalStreams } from './terminal/terminal.ts'
