import { counter, type MetricFamily } from './metric-family.ts'

/**
 * Connection metrics.
 * @param refused because their address was over its limit
 * @param stalled ended because their client read nothing of a response
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
