export {
  beginInClone,
  completeApplication,
  completeClone,
  newSecretNote,
  renewIdentity,
  writeConfigSchema,
} from './application-folder.ts'
export { loadOwnEnvFile, ownEnvironment, resetEnvironment, takeHostEnvironment } from './environment.ts'
export { describeHost, differingHosts } from './other-hosts.ts'
