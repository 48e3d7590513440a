/**
 * Node's `http`. An import of it would read everything that it exports, also `WebSocket`, which
 * loads undici: 40 ms of CPU and 14 MB of memory that most hosts never need.
 */
export const http = process.getBuiltinModule('node:http')
