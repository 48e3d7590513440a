import type { ComponentChildren } from 'preact'
import { bytes, fullTime } from '../format.ts'
import { texts } from '../texts.ts'
import { Badge, Json, Method, Note } from '../ui/parts.tsx'
import { dropsIn, isEmpty, type ModulePlan, modulesIn, type Plan, toText } from './plan.ts'

const t = texts.changes

/** What a change does, before it is agreed to. */
export function PlanView({ plan, value }: { readonly plan: Plan; readonly value: string | undefined }) {
  if (plan.key !== undefined) return <SettingPlan plan={plan} value={value} />
  if (plan.digest === undefined) return <Note>{t.noPlan}</Note>
  const { changes = [], undo = [] } = plan.plan ?? {}
  const { removed = [], purged = [], changed = [], dependants = [] } = plan
  const drops = dropsIn(plan)
  const lines = [...changes, ...removed.map((id) => `- ${id}`)]
  return (
    <div class="plan">
      {isEmpty(plan) && <Note>{t.nothing}</Note>}
      {plan.to !== undefined && plan.generation !== undefined && (
        <p class="strong">{t.generation(plan.generation, plan.to)}</p>
      )}
      {lines.length > 0 && <Chips items={lines} />}
      {changed.length > 0 && (
        <p>
          {t.concerns} <Chips items={changed} /> {plan.until && t.until(fullTime(plan.until))}
        </p>
      )}
      {removed.length > 0 && purged.length === 0 && drops.length === 0 && <p class="muted">{t.dataStay}</p>}
      {lines.some((line) => /^- web-console( |$)/.test(line)) && <Note tone="warn">{t.removesThis}</Note>}
      {dependants.length > 0 && <Group title={t.dependants} items={dependants} />}
      {undo.length > 0 && <Group title={t.undone} items={undo} />}
      {drops.length > 0 && (
        <Note tone="bad" icon="warn">
          <p class="strong">{t.drops}</p>
          <List items={drops} />
        </Note>
      )}
      {modulesIn(plan).map((module) => (
        <ModuleCard key={module.id} module={module} />
      ))}
      <details>
        <summary class="small muted">{t.details}</summary>
        <Json value={plan} />
      </details>
    </div>
  )
}

const SettingPlan = ({ plan, value }: { readonly plan: Plan; readonly value: string | undefined }) => (
  <dl class="facts">
    <dt>{t.setting}</dt>
    <dd>
      <code>{plan.key}</code>
    </dd>
    <dt>{t.present}</dt>
    <dd>
      <code>{JSON.stringify(plan.value)}</code>
    </dd>
    <dt>{t.becomes}</dt>
    <dd>{value === undefined ? t.theDefault : <code>{value}</code>}</dd>
  </dl>
)

const List = ({ items }: { readonly items: readonly unknown[] }) => (
  <ul>
    {items.map((item) => (
      <li key={toText(item)} class="mono wrap">
        {toText(item)}
      </li>
    ))}
  </ul>
)

const Group = ({ title, items }: { readonly title: string; readonly items: readonly unknown[] }) => (
  <div>
    <h3>{title}</h3>
    <List items={items} />
  </div>
)

/** A line of the facts, where there is something to say. */
const Fact = ({
  name,
  show = true,
  children,
}: {
  name: string
  show?: boolean
  children: ComponentChildren
}) =>
  show ? (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  ) : null

function ModuleCard({ module }: { readonly module: ModulePlan }) {
  const { newRoutes, lostRoutes, schema, migrations, dependencies, scripts, network, breaking } = module
  const fresh = migrations.filter(({ isNew }) => isNew)
  const added = dependencies.filter(({ change }) => change !== null)
  const unrun = [
    ...scripts,
    ...dependencies.flatMap(({ name, scripts }) => scripts.map((script) => `${name}: ${script}`)),
  ]
  return (
    <section>
      <header>
        <h3>
          {module.id} {module.version}
        </h3>
        {module.replaces && <span class="muted small">{t.replaces(module.replaces)}</span>}
        {module.isNewSource && <Badge tone="warn">{t.newSource}</Badge>}
      </header>
      {module.operator && (
        <Note tone="warn">
          <p class="strong">{t.operator}</p>
        </Note>
      )}
      <dl class="facts">
        <Fact name={t.from}>
          <code>{module.origin}</code>
        </Fact>
        <Fact name={t.breaking}>{breaking.length === 0 ? t.breakingNone : <List items={breaking} />}</Fact>
        <Fact name={t.routes} show={newRoutes.length + lostRoutes.length > 0}>
          <ul>
            {newRoutes.map((route) => (
              <li key={route}>
                <span class="added">+</span> <Method route={route} />{' '}
                <span class="muted small">{toText(module.access?.[route] ?? '')}</span>
              </li>
            ))}
            {lostRoutes.map((route) => (
              <li key={route}>
                <span class="lost">−</span> <Method route={route} />
              </li>
            ))}
          </ul>
        </Fact>
        <Fact name={t.tables} show={schema.length > 0}>
          <Chips items={schema.map(({ name }) => name)} />
        </Fact>
        <Fact name={t.migrations} show={fresh.length > 0}>
          <ul>
            {fresh.map(({ file, reversible }) => (
              <li key={file}>
                <code>{file}</code>{' '}
                {!reversible && (
                  <Badge tone="warn" bare>
                    {t.irreversible}
                  </Badge>
                )}
              </li>
            ))}
          </ul>
        </Fact>
        <Fact name={t.hosts} show={network.length > 0}>
          <Chips items={network.map(toText)} />
        </Fact>
        <Fact name={t.dependencies} show={added.length > 0}>
          <Chips items={added.map(({ name, version }) => `${name} ${version}`)} />
        </Fact>
        <Fact name={t.scripts} show={unrun.length > 0}>
          <Chips items={unrun.map(toText)} />
        </Fact>
        <Fact name={t.settings} show={module.settings.length > 0}>
          <Chips items={module.settings.map(toText)} />
        </Fact>
        <Fact name={t.signed}>{module.signed ? toText(module.signed) : t.unsigned}</Fact>
        <Fact name={t.size}>{bytes(module.bytes)}</Fact>
      </dl>
    </section>
  )
}

export const Chips = ({ items }: { readonly items: readonly string[] }) => (
  <span class="chips">
    {items.map((item) => (
      <span class="chip" key={item}>
        {item}
      </span>
    ))}
  </span>
)
