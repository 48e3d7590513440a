/** Why a host does not begin requests: it does not serve yet, or ends. */
export type Phase = 'starting' | 'stopping'

/** The header of a sign of life that shows a waiting command why. */
export const PHASE_HEADER = 'mortise-phase'
