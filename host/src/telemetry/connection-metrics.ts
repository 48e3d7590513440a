import { counter, type MetricFamily } from './metric-family.ts'

/**
 * What was done to connections, as figures.
 * @param refused since their address had as many as it may have
 * @param stalled ended, since their reader took nothing of an answer
 */
export const connectionMetrics = (refused: number, stalled: number): MetricFamily[] => [
  counter(
    'mortise_refused_connections_total',
    'Connections that were refused, since their address had too many',
    refused,
  ),
  counter(
    'mortise_stalled_answers_total',
    'Answers that were ended, since their reader took nothing of them',
    stalled,
  ),
]
