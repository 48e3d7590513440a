import { plant, type Seams } from './seams.ts'
import { serveParent } from './serve-parent.ts'

interface PlantedHostOptions {
  readonly directory: string
  /** The URL of a module that exports `bugs`: seams by name. */
  readonly file: string
  /** The names of those to plant. */
  readonly planted: readonly string[]
}

// A process of its own: the host as `app start` runs it, but for the bugs.
serveParent(async ({ directory, file, planted }: PlantedHostOptions) => {
  const { bugs } = (await import(file)) as { bugs: Readonly<Record<string, Seams>> }
  const waiting = plant(Object.assign({}, ...planted.map((bug) => bugs[bug])))
  // Not before that: it is loaded with the bugs.
  const { Application } = await import('@mortise/host/serving')
  const application = await Application.start({ directory, port: 0, environment: {} })
  const [missing] = waiting()
  if (missing !== undefined) throw new Error(`${missing} was not loaded`)
  return { url: application.url, close: () => application.close() }
})
