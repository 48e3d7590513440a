import { CANARY, isSecret, textsIn } from '../world/canaries.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { WatchedModule } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

interface LogLine {
  readonly requestId?: string
  readonly msg?: string
  readonly err?: { readonly stack?: string }
}

export const openSecrets: Rule<WatchedModule> = {
  code: 'open-secret',
  finds:
    'a setting that looks like a secret and is not `writeOnly`: `app config` and the plan of a change show it',
  remedy: "Write Type.String({ writeOnly: true }), and run 'app module-manifest'.",
  find: ({ declared }) =>
    [...textsIn(declared?.settings)]
      .filter((setting) => isSecret(setting) && setting.schema.writeOnly !== true)
      .map(({ path }) => ({
        where: 'package.json',
        why: `the setting "${path.join('.')}" looks like a secret`,
      })),
}

export const exposedSecrets: Rule<World> = {
  code: 'secret-exposed',
  finds: 'the value of a secret setting in a response, a log line or an event',
  remedy: 'Leave it out; log and send only what an operator or a caller needs.',
  find({ exchanges, logged, module }) {
    const found: Found[] = []
    for (const { route, text, headers, steps } of exchanges) {
      if (text.includes(CANARY) || JSON.stringify(headers).includes(CANARY)) {
        found.push({ where: route.where, why: 'its response has the value of a secret setting' })
      }
      const event = steps.find((step) => step.event && JSON.stringify(step.event).includes(CANARY))
      if (event)
        found.push({ where: route.where, why: `the ${event.text} has the value of a secret setting` })
    }
    for (const line of logged.filter((one) => one.includes(CANARY))) {
      const { requestId, msg, err } = JSON.parse(line) as LogLine
      const exchange = exchanges.find(({ headers }) => requestId && headers['request-id'] === requestId)
      const where = exchange?.route.where ?? module.place(err?.stack) ?? 'its log'
      found.push({ where, why: `a log line has the value of a secret setting: ${(msg ?? '').slice(0, 100)}` })
    }
    return found
  },
}
