import { defineModule, streamProblems } from '@mortise/module-sdk'
import { Settings } from './settings.ts'

export const { plugin, problem, responses } = defineModule('api-event', {
  settings: Settings,
  problems: {
    ...streamProblems,
    'sign-in-needed': { status: 403, title: 'Webhooks need a signed-in user' },
    'webhook-not-found': { status: 404, title: 'Webhook not found' },
    'delivery-not-found': { status: 404, title: 'Delivery not found' },
    'webhook-limit': { status: 409, title: 'The caller has too many webhooks' },
    'webhook-disabled': { status: 409, title: 'The webhook is disabled' },
    'webhook-full': { status: 409, title: 'The webhook has too many pending deliveries' },
  },
})

/** For every unknown event id: deleted by retention, lost with a restore, or invented. */
export function eventGone() {
  return problem(
    'event-gone',
    'The event in after does not exist any more: events are deleted after some time, so you may have missed later ones too. Read the resources themselves, then start again at the oldest event with after=start.',
  )
}
