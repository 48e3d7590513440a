import { defineModule } from '@mortise/module-sdk'
import { Settings } from './settings.ts'

export const { plugin, problem, responses } = defineModule('api-event', {
  settings: Settings,
  problems: {
    'credentials-needed': { status: 401, title: 'A stream needs a caller who is known' },
    'sign-in-needed': { status: 403, title: 'Webhooks are for callers who are signed in' },
    'webhook-not-found': { status: 404, title: 'There is no such webhook' },
    'delivery-not-found': { status: 404, title: 'There is no such delivery' },
    'webhook-limit': { status: 409, title: 'The caller has as many webhooks as allowed' },
    'webhook-disabled': { status: 409, title: 'The webhook is disabled' },
    'webhook-full': { status: 409, title: 'The webhook has as many pending deliveries as allowed' },
    'event-gone': { status: 410, title: 'The event to go on from is not there' },
    'too-many-streams': { status: 429, title: 'The caller has too many streams open' },
    'too-many-streams-per-address': { status: 429, title: 'The address has too many streams open' },
    'streams-exhausted': { status: 503, title: 'Too many streams are open' },
    'guest-streams-exhausted': { status: 503, title: 'Too many streams of guests are open' },
  },
})

/** 401: without a caller there are no events to show. */
export function credentialsNeeded() {
  return problem(
    'credentials-needed',
    'A stream is for somebody to whom something can happen: send Authorization: Bearer and a token, or the Guest-Token of a guest.',
    { headers: { 'www-authenticate': 'Bearer' } },
  )
}

/** For every unknown event id: deleted by retention, lost with a restore, or invented. */
export function eventGone(parameter: string) {
  return problem(
    'event-gone',
    `There is no event with the id in ${parameter}, or none any more: events are kept for a time, and what came after it may have been deleted as well, unseen by you. Look at the things themselves for what you may have missed, and begin anew with after=start in its place: that is with the oldest event there is.`,
  )
}
