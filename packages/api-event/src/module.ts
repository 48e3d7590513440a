import { defineModule } from '@mortise/module-sdk'
import { Settings } from './settings.ts'

export const { plugin, problem, responses } = defineModule('api-event', {
  settings: Settings,
  problems: {
    'credentials-needed': { status: 401, title: 'A stream needs credentials' },
    'sign-in-needed': { status: 403, title: 'Webhooks need a signed-in user' },
    'webhook-not-found': { status: 404, title: 'Webhook not found' },
    'delivery-not-found': { status: 404, title: 'Delivery not found' },
    'webhook-limit': { status: 409, title: 'The caller has too many webhooks' },
    'webhook-disabled': { status: 409, title: 'The webhook is disabled' },
    'webhook-full': { status: 409, title: 'The webhook has too many pending deliveries' },
    'event-gone': { status: 410, title: 'The event does not exist any more' },
    'too-many-streams': { status: 429, title: 'The caller has too many open streams' },
    'too-many-streams-per-address': { status: 429, title: 'The address has too many open streams' },
    'streams-exhausted': { status: 503, title: 'Too many open streams' },
    'guest-streams-exhausted': { status: 503, title: 'Too many open streams of guests' },
  },
})

/** 401: without a caller there are no events to show. */
export function credentialsNeeded() {
  return problem(
    'credentials-needed',
    'A stream needs a caller: send Authorization: Bearer and a token, or the Guest-Token of a guest.',
    { headers: { 'www-authenticate': 'Bearer' } },
  )
}

/** For every unknown event id: deleted by retention, lost with a restore, or invented. */
export function eventGone(parameter: string) {
  return problem(
    'event-gone',
    `The event in ${parameter} does not exist any more: events are deleted after some time, so you may have missed later ones too. Read the resources themselves, then start again at the oldest event with after=start.`,
  )
}
