import { spawnSync } from 'node:child_process'

/** The reason why this machine cannot trace: some containers forbid it. */
export const whyNoStrace = (): string | undefined =>
  spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
    ? undefined
    : 'strace is missing (apt-get install strace), or may not trace'
