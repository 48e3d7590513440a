import { describeHost, differingHosts } from '../application/other-hosts.ts'
import type { AsyncFindings } from './finding.ts'

/** Whether all hosts of the database serve the same modules. */
export async function* checkOtherHosts(directory: string): AsyncFindings {
  const hosts = await differingHosts(directory)
  if (hosts.length === 0) return
  yield {
    id: 'hosts-differ',
    severity: 'warning',
    message: `Hosts on this database serve different modules, so responses depend on the host. ${hosts.map(describeHost).join('; ')}.`,
    hint: 'Finish the roll-out: run the same command there, or start the same image.',
  }
}
