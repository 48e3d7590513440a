import { defineFailure } from './define-failure.ts'

export const alreadyRunning = defineFailure(
  'unexpected',
  'already-running',
  'This application is running already: process {pid} serves {url}.',
  'Use that one, or stop it first: kill {pid}',
)

export const notRunning = defineFailure(
  'notFound',
  'not-running',
  'No host runs this application.',
  'Start it: app start',
)

export const hostSilent = defineFailure(
  'unexpected',
  'host-silent',
  '{problem}',
  'Wait for it, or end it and start it again: kill -9 {process}, then app start. What it has acknowledged is in the database.',
)

export const hostStopped = defineFailure(
  'unexpected',
  'host-silent',
  '{problem}',
  'Wake it (kill -CONT {process}), or end it and start it again: kill -9 {process}, then app start. What it has acknowledged is in the database.',
)

export const hostGone = defineFailure(
  'unexpected',
  'host-gone',
  '{problem}',
  'See why in its log and start it again, then repeat the command: a change that had begun is completed or taken back first.',
)

export const requestRefused = defineFailure(
  'unexpected',
  'host-refused',
  'The running host did not do it: {reason}.',
  'Run the command again after that: it goes on where this one stopped.',
)

export const restartRefused = defineFailure(
  'refused',
  'not-restarted',
  'The host was not restarted: {reason}.',
  'It serves as before. Correct what it says; a host without --workers is stopped and started again.',
)

export const restartFailed = defineFailure(
  'unexpected',
  'not-restarted',
  'The host was not restarted: {reason}.',
  'It serves as before. Correct what it says, then try again.',
)

export const takenBack = defineFailure(
  'activation',
  'taken-back',
  'The change was live, and the host took it back: {reason}.',
  'The former modules are back. Data and schema stay as the change has left them. Correct what it says, then try again.',
)

export const needsPostgres = defineFailure(
  'refused',
  'one-process',
  'Several processes need PostgreSQL: one SQLite file is served by one process.',
  'Start it without --workers, or name a PostgreSQL in "database" or APP_DATABASE.',
)

export const workersFailed = defineFailure(
  'unexpected',
  'workers-failed',
  'The host stopped, since its processes end again and again: {reason}',
  'Look into its log for why, correct that, then start it again.',
)

export const workersFailedAlike = defineFailure(
  'unexpected',
  'workers-failed',
  'The host stopped, since its processes end again and again: {reason}',
  '{advice}',
)

export const portInUse = defineFailure(
  'unexpected',
  'port-in-use',
  'Port {port} of {address} is taken by another program.',
  'Stop what listens there, or choose another one: app start --port 8080',
)

export const cannotListen = defineFailure(
  'unexpected',
  'cannot-listen',
  'The host cannot listen on the address: {reason}.',
  'Choose another --host or --port.',
)

export const newerHost = defineFailure(
  'refused',
  'newer-host',
  'This host is too old for the application: {reason}',
  'Run the newer host version; or restore a backup that was made before it.',
)

export const hostOfAnotherUser = defineFailure(
  'refused',
  'host-of-another-user',
  'The host {version} that modules.lock.json names belongs to another user ({user}), whose code is not run as you.',
  'Run the command as that user. MORTISE_UNPINNED=1 in the environment runs it in the host that you have called.',
)

export const hostNotLoaded = defineFailure(
  'refused',
  'host-incomplete',
  'The host {version} that modules.lock.json names is missing in the store, or damaged: {reason}',
  'Run "app module-install" without a name: it brings the store in line with the lock.',
)
