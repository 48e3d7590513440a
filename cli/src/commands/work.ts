import { readLockFile } from '@mortise/application'
import type { JobsState } from '@mortise/host'
import { callUnlocked, doneRecord } from '@mortise/installer/changes'
import { noFailedJob } from '@mortise/installer/failures'
import { whyIdle } from '@mortise/installer/store'
import type { Command } from '../terminal/command.ts'
import { table } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { replayCall, replayOptions } from './replay-call.ts'

export const command: Command = {
  options: replayOptions('jobs'),
  examples: [
    'app work                              # oldest failed jobs first',
    'app work replay job_01k8w2d3e4f5g6h7j8k9m0n1p2',
    'app work replay --all --module mailer # after the module is fixed',
    'app work discard job_01k8w2d3e4f5g6h7j8k9m0n1p2',
  ],

  async run({ terminal, application, ...call }) {
    const directory = await application()
    const asked = await replayCall('work', directory, call)
    if (asked.action === 'show') return await show(directory, asked.limit, terminal)
    const { action, id, ...of } = asked
    const choice = { ...(id !== undefined && { job: id }), ...of }
    const record = doneRecord('discard', id ?? '', {})
    const { jobs } =
      action === 'replay'
        ? await callUnlocked(directory, 'replayJobs', choice)
        : await callUnlocked(directory, 'discardJob', { ...choice, job: asked.id, record })
    if (id !== undefined && jobs.length === 0) {
      throw noFailedJob({ job: id, by: of.module === undefined ? '' : ` in ${of.module}` })
    }
    const listed = table(jobs.map((job) => [job.id, job.module, job.work]))
    if (action === 'discard') return terminal.result({ discarded: jobs }, `Discarded:\n${listed}`)
    const said = `Due now; a running host tries again within seconds:\n${listed}`
    terminal.result({ replayed: jobs }, jobs.length === 0 ? 'There are no failed jobs.' : said)
  },
}

async function show(directory: string, limit: number, terminal: Terminal): Promise<void> {
  const state: JobsState = await callUnlocked(directory, 'jobs', { limit })
  const { works, failed } = state
  if (works.length === 0) return terminal.result(state, 'No jobs wait, run or have failed.')
  const lock = await readLockFile(directory)
  const counts = works.map(({ module, work, waiting, running, failed }) => [
    `${module}/${work}`,
    `${waiting} waiting`,
    `${running} running`,
    `${failed} failed`,
    whyIdle(lock, module) ?? '',
  ])
  const jobs = failed.map(({ id, module, work, attempts, nextAttemptAt, error }) => [
    id,
    `${module}/${work}`,
    `${attempts} attempts`,
    nextAttemptAt === null ? 'failed' : `again ${nextAttemptAt}`,
    error,
  ])
  const next = 'Next: app work replay <job>, or app work discard <job>'
  terminal.result(state, [table(counts), ...(jobs.length > 0 ? [table(jobs), next] : [])].join('\n\n'))
}
