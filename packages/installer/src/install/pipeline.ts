import { inTemporaryFolder, readLockFile } from '@mortise/application'
import { namingFullFolder } from '@mortise/application/folder'
import { completeRevert } from '@mortise/host'
import { beginInClone } from '../application/application-folder.ts'
import { afterOtherCommands, withCommandLock } from '../changes/command-lock.ts'
import { deliverRecords } from '../changes/deliver-records.ts'
import { readJournal } from '../changes/journal.ts'
import { completeRestoration, isRestorationLeft } from '../data/restore-journal.ts'
import { interrupted } from '../failures/index.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { removeLeftovers } from '../store/leftovers.ts'
import { type Applied, apply, nothingApplied } from './apply/apply.ts'
import { completeOrReport } from './apply/complete-or-report.ts'
import { consent, mayRun } from './consent/consent.ts'
import { assertPlanned } from './consent/plan-digest.ts'
import { fetch, nothingFetched } from './fetch/fetch.ts'
import type { Input, Kind } from './input.ts'
import { plan } from './plan/plan.ts'
import { probe } from './probe/probe.ts'
import { pruneStore } from './prune/prune-store.ts'
import { reportExternalChange } from './resolve/report-external-change.ts'
import { resolve } from './resolve/resolve.ts'
import { nothingArrives, verify } from './verify/verify.ts'

// Every change of the installed modules goes through the same phases: resolve → fetch → verify →
// plan → consent → probe → apply → prune. Each phase adds to the result of the one before.

type Phase = 'fetch' | 'verify' | 'consent' | 'probe'

/** These changes add nothing, or only what was checked and probed at its installation. */
const skipped: Readonly<Record<Kind, readonly Phase[]>> = {
  install: [],
  upgrade: [],
  'host-upgrade': [],
  enable: ['fetch', 'consent'],
  disable: ['fetch', 'verify', 'consent', 'probe'],
  pause: ['fetch', 'verify', 'consent', 'probe'],
  remove: ['fetch', 'verify', 'probe'],
  rollback: ['verify', 'probe'],
}

/**
 * Changes the installed modules, completely or not at all. A dry run ends after the probe, which it
 * leaves out for a new source, and takes no lock.
 * @throws {Failure} for a dry run, if an interrupted change must be completed first
 */
export async function changeModules(input: Input): Promise<Applied> {
  const { directory, command, terminal, dryRun } = input
  if (!dryRun) return await changeApplication(directory, command, terminal, () => runPhases(input, directory))
  await afterOtherCommands(directory)
  if (isRestorationLeft(directory) || (await readJournal(directory)) !== undefined) throw interrupted()
  return await inTemporaryFolder(directory, (staging) =>
    namingFullFolder(directory, () => runPhases(input, staging)),
  )
}

const notProbed =
  'The plan comes from files alone: none of the code has run, since nobody has agreed to its source. To try it as well, add --yes.'

async function runPhases(input: Input, staging: string): Promise<Applied> {
  const applies = (phase: Phase) => !skipped[input.kind].includes(phase)
  const resolved = await resolve(input, staging)
  return await reportExternalChange(resolved, async () => {
    const fetched = applies('fetch') ? await fetch(resolved) : { ...resolved, ...nothingFetched }
    const verified = applies('verify') ? await verify(fetched) : { ...fetched, ...nothingArrives }
    const planned = await plan(verified)
    assertPlanned(planned)
    if (applies('consent')) await consent(planned)
    if (applies('probe') && !mayRun(planned)) input.terminal.note(notProbed)
    const probed = applies('probe') && mayRun(planned) ? await probe(planned) : { ...planned, probed: false }
    return input.dryRun ? { ...probed, ...nothingApplied } : await apply(probed)
  })
}

/**
 * Runs `work` with the command lock, after completing or removing the leftovers of a killed
 * command.
 * @param command the command line, for commands that find the application busy
 */
export async function changeApplication<Result>(
  directory: string,
  command: string,
  terminal: Reporter,
  work: () => Promise<Result>,
): Promise<Result> {
  await beginInClone(directory)
  return await withCommandLock(directory, command, async () => {
    const leftovers = await removeLeftovers(directory)
    if (leftovers > 0) {
      terminal.note(`Removed files of an interrupted command from staging (${leftovers}).`)
    }
    const restored = await completeRestoration(directory)
    if (restored !== undefined) terminal.note(`Completed "${restored}", which was interrupted.`)
    await completeRevert(directory)
    await completeOrReport(directory, terminal)
    try {
      const result = await namingFullFolder(directory, work)
      // Removes packages of older generations, and of a command that was killed before its journal.
      await pruneStore(directory, await readLockFile(directory))
      return result
    } finally {
      await removeLeftovers(directory)
      await deliverRecords(directory)
    }
  })
}
