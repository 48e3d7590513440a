import { moduleStates } from '@mortise/application'
import { type Static, Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'

const ModuleState = Type.Object(
  {
    id: Type.String(),
    version: Type.String(),
    state: Type.Union(moduleStates.map((state) => Type.Literal(state))),
  },
  { title: 'ModuleState' },
)
type ModuleState = Static<typeof ModuleState>

const Overview = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    modules: Type.Array(ModuleState),
    hostsDiffer: Type.Optional(
      Type.Boolean({
        description: 'true while other hosts of the application serve other modules or versions',
      }),
    ),
    links: Type.Object({ docs: Type.String(), openapi: Type.String() }),
  },
  { title: 'Overview' },
)

export interface OverviewOptions {
  readonly application: { readonly name: string; readonly version: string }
  readonly modules: readonly ModuleState[]
  readonly hostsDiffer?: () => Promise<boolean>
}

/** `GET /`: the modules of this application. */
export const overview = fp<OverviewOptions>(
  async (app, { application, modules, hostsDiffer = async () => false }) => {
    const { name, version } = application
    const response = {
      name,
      version,
      // The reason of a failure is for the operator: in `app module-list` and the log.
      modules: modules.map(({ id, version, state }) => ({ id, version, state })),
      links: { docs: `${app.prefix}/docs`, openapi: `${app.prefix}/openapi.json` },
    }
    app.get(
      '/',
      {
        config: { access: 'public' },
        schema: { summary: 'The application and its modules', response: { 200: Overview } },
      },
      // Which hosts differ, and how, is for the operator: in `app module-list`.
      async () => ((await hostsDiffer()) ? { ...response, hostsDiffer: true } : response),
    )
  },
)
