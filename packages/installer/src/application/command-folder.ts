import { realpathSync } from 'node:fs'
import { join } from 'node:path'

// The package of the command: it depends on the host, and has `bin.js` and the modules that travel
// with it. The installer starts it as a process, and pins it as the host of an application.

/** Folders of that package. */
export interface CommandFolders {
  /** The one whose code runs. */
  readonly own: string
  /** The one that was called, which may have continued in the other. */
  readonly called: string
}

const installer = realpathSync(join(import.meta.dirname, '..', '..'))
let folders: CommandFolders = { own: installer, called: installer }

/** The command says where it is before it uses the installer. Without one, nothing can be started. */
export function useCommand(given: CommandFolders): void {
  folders = given
}

export const ownFolder = (): string => folders.own
export const calledFolder = (): string => folders.called
