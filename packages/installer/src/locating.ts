// Finds the application. It loads no code of the host.

export { assertOwner } from './application/assert-owner.ts'
export { useCommand } from './application/command-folder.ts'
export { findApplication, ownApplication } from './application/find-application.ts'
