import { define } from './define-failure.ts'

export const alreadyRunning = define.unexpected(
  'already-running',
  'This application is already running: process {pid} serves {url}.',
  'Use it, or stop it first: kill {pid}',
)

export const notRunning = define.notFound(
  'not-running',
  'The application is not running.',
  'Start it: app start',
)

export const hostSilent = define.unexpected('host-silent', '{problem}', {
  busy: 'Wait for it, or kill it and start it again: kill -9 {process}, then app start. All acknowledged writes are in the database.',
  stopped:
    'Continue it (kill -CONT {process}), or kill it and start it again: kill -9 {process}, then app start. All acknowledged writes are in the database.',
})

export const hostGone = define.unexpected(
  'host-gone',
  '{problem}',
  'Look in its log for the reason and start it again. Then repeat the command: it first completes or reverts an interrupted change.',
)

export const requestRefused = define.unexpected(
  'host-refused',
  'The running host refused: {reason}.',
  'Correct the cause, then run the command again: it continues where this one stopped.',
)

export const restartRefused = define.refused(
  'not-restarted',
  'The host was not restarted: {reason}.',
  'It serves as before. Correct the cause. Stop and start a host that runs without --workers.',
)

export const restartFailed = define.unexpected(
  'not-restarted',
  'The host was not restarted: {reason}.',
  'It serves as before. Correct the cause, then try again.',
)

export const takenBack = define.activation(
  'taken-back',
  'The change was live, and the host reverted it: {reason}.',
  'The previous modules run again. Data and schema stay as they are after the change. Correct the cause, then try again.',
)

export const needsPostgres = define.refused(
  'one-process',
  '--workers needs PostgreSQL: only one process can serve an SQLite file.',
  'Start it without --workers, or set "database" or APP_DATABASE to a PostgreSQL URL.',
)

export const workersFailed = define.fatal(
  'workers-failed',
  'The host stopped because its processes keep ending: {reason}',
  {
    log: 'Look in its log for the reason, correct it, then start it again.',
    advice: '{advice}',
  },
)

export const hostCrashed = define.unexpected(
  'host-crashed',
  'The host stopped because of an error outside of requests that belongs to no module: {reason}',
  'All acknowledged writes are in the database: start it again. Report the stack in its log.',
)

export const portInUse = define.unexpected(
  'port-in-use',
  'Another program uses port {port} of {address}.',
  'Stop that program, or choose another port: app start --port 8080',
)

export const cannotListen = define.unexpected(
  'cannot-listen',
  'The host cannot listen on the address: {reason}.',
  'Choose another --host or --port.',
)

export const newerHost = define.refused(
  'newer-host',
  'This host is too old for the application: {reason}',
  'Run the newer host version, or restore a backup from before it.',
)

export const hostOfAnotherUser = define.refused(
  'host-of-another-user',
  'The host {version} that modules.lock.json names belongs to another user ({user}). The command does not run their code as you.',
  'Run the command as that user. With MORTISE_UNPINNED=1 in the environment, your own host version runs it.',
)

export const hostNotLoaded = define.refused(
  'host-incomplete',
  'The host {version} that modules.lock.json names is missing in the store, or damaged: {reason}',
  'Run "app module-install" without a name: it restores the store from the lock file.',
)
