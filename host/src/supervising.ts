// What starts hosts as processes, and starts again what ends. It loads nothing that serves.

export { type FromServing, Parent, type ToServing, takeParent } from './control/supervisor/parent.ts'
export { reportFailure, reportServing } from './control/supervisor/report-to-supervisor.ts'
export { sendHeartbeat } from './control/supervisor/send-heartbeat.ts'
export { Supervisor } from './control/supervisor/supervisor.ts'
export { takeWorkerNumber } from './control/supervisor/worker-number.ts'
export { WorkerEndedError } from './control/supervisor/worker-process.ts'
