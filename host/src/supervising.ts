// What starts hosts as processes, and starts again what ends. It loads nothing that serves.

export { reportFailure, reportServing } from './supervisor/report-to-supervisor.ts'
export { sendHeartbeat } from './supervisor/send-heartbeat.ts'
export { Supervisor } from './supervisor/supervisor.ts'
export { takeWorkerNumber } from './supervisor/worker-number.ts'
export { WorkerEndedError } from './supervisor/worker-process.ts'
