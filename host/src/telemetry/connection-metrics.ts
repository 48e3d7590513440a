import { counter, type MetricFamily } from './prometheus-format.ts'

/** @param stalled ended because their client read nothing of a response */
export const connectionMetrics = (refused: number, stalled: number): MetricFamily[] => [
  counter(
    'mortise_refused_connections_total',
    'Connections refused because their address had too many',
    refused,
  ),
  counter('mortise_stalled_responses_total', 'Responses ended because their reader stalled', stalled),
]
