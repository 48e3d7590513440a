import { deleteExpired } from '@mortise/module-sdk'
import { apiRoutes } from './api-routes.ts'
import { changeRoutes } from './change-routes.ts'
import { Commands } from './commands.ts'
import { eventRoutes } from './event-routes.ts'
import { loginRoutes } from './login-routes.ts'
import { plugin } from './module.ts'
import { nowRoutes } from './now-routes.ts'
import { builtPage, pageRoutes } from './page.ts'
import { readRoutes } from './read-routes.ts'
import { Rights } from './rights.ts'
import { Ring } from './ring.ts'
import { sessionRoutes } from './session-routes.ts'
import { Sessions } from './sessions.ts'

/** @param page the folder with the built page */
export const consoleModule = (page = builtPage, ring = new Ring()) =>
  plugin(async (app, context) => {
    const { database, operator, settings, everyMinute, audit, trusts } = context
    const parts = {
      sessions: new Sessions(database, trusts, settings),
      operator,
      rights: new Rights(operator, settings),
    }
    const commands = new Commands(operator)
    pageRoutes(app, page, settings.oidc !== undefined)
    sessionRoutes(app, parts, audit)
    loginRoutes(app, parts, settings)
    apiRoutes(app, parts)
    readRoutes(app, parts, commands)
    changeRoutes(app, parts, commands, context)
    nowRoutes(app, parts, ring, context)
    eventRoutes(app, parts, context.events)
    everyMinute('sessions', () => deleteExpired('console_session'))
    everyMinute('links', () => deleteExpired('console_link'))
    everyMinute('changes', () => deleteExpired('console_change'))
  })

export default consoleModule()
