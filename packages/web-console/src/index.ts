import { plugin } from './module.ts'
import { builtPage, pageRoutes } from './page.ts'

/** @param page the folder with the built page */
export const consoleModule = (page = builtPage) =>
  plugin(async (app) => {
    pageRoutes(app, page)
  })

export default consoleModule()
