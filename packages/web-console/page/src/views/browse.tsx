import { useState } from 'preact/hooks'
import { get, query } from '../api.ts'
import type { Change } from '../change/change-window.tsx'
import { useLoad } from '../load.ts'
import { route, setQuery } from '../route.ts'
import { texts } from '../texts.ts'
import { Badge, Empty, Find, ProblemNote, Time, WaitingCard } from '../ui/parts.tsx'
import { useModules } from './module.ts'

const t = texts.modules.browse

interface Found {
  readonly spec: string
  readonly package: string
  readonly version: string | null
  readonly description: string | null
  readonly host: string | null
  readonly compatible: boolean | null
  readonly published: string | null
  readonly signed: boolean | null
  readonly problem: string | null
  readonly from: string
  readonly publisher: string | null
}

interface Results {
  readonly modules: readonly Found[]
  readonly unasked: readonly { readonly registry: string; readonly reason: string }[]
}

interface Props {
  readonly turn: number
  change(change: Change): void
}

/** What can be installed. It says before whether that fits this host. */
export function Browse({ turn, change }: Props) {
  const words = route.value.query.q ?? 'mortise'
  const { data, problem, reload } = useLoad(
    (signal) => get<Results>(`operator/search${query({ words })}`, signal),
    [words],
    undefined,
    `search ${words}`,
  )
  const present = useModules(turn)
  const install = (spec: string) =>
    change({ title: `${texts.modules.install}: ${spec}`, command: 'module-install', args: [spec] })
  return (
    <>
      <p class="muted">{t.lead}</p>
      <div class="tools browse">
        <Find
          label={t.label}
          placeholder={t.placeholder}
          value={route.value.query.q ?? ''}
          search={(q) => setQuery({ q })}
        />
        <Elsewhere install={install} />
      </div>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!data && !problem && <WaitingCard />}
      {data?.modules.length === 0 && (
        <div class="card">
          <Empty icon="search" title={t.empty}>
            {t.emptyText}
          </Empty>
        </div>
      )}
      {data && (
        <div class="results">
          {data.modules.map((found) => (
            <Result
              key={`${found.from} ${found.spec}`}
              found={found}
              installed={present.data?.modules.find((module) => module.package === found.package)?.version}
              install={install}
            />
          ))}
        </div>
      )}
      {data?.unasked.map(({ registry, reason }) => (
        <p class="small muted wrap unasked" key={registry} title={reason}>
          {t.unasked(registry)}
        </p>
      ))}
    </>
  )
}

function Elsewhere({ install }: { install(spec: string): void }) {
  const [spec, setSpec] = useState('')
  return (
    <form
      class="elsewhere"
      onSubmit={(event) => {
        event.preventDefault()
        if (spec.trim()) install(spec.trim())
      }}
    >
      <input
        class="input"
        aria-label={t.specLabel}
        title={t.spec}
        placeholder={t.specPlaceholder}
        spellcheck={false}
        autocomplete="off"
        value={spec}
        onInput={(event) => setSpec(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={!spec.trim()}>
        {t.plan}
      </button>
    </form>
  )
}

interface ResultProps {
  readonly found: Found
  readonly installed: string | undefined
  install(spec: string): void
}

const Result = ({ found, installed, install }: ResultProps) => (
  <article class="card result" aria-label={found.spec}>
    <div>
      <h2>{found.spec}</h2>
      <p class="small muted wrap">
        <code>
          {found.package}
          {found.version && ` ${found.version}`}
        </code>
      </p>
    </div>
    {found.description && <p>{found.description}</p>}
    {found.problem && <p class="small wrap">{found.problem}</p>}
    <p class="chips">
      <Badge tone={found.from === 'command' ? 'accent' : 'idle'} bare>
        {t.origins[found.from] ?? found.from}
      </Badge>
      {found.compatible !== null && (
        <Badge tone={found.compatible ? 'ok' : 'bad'}>
          {found.compatible ? t.compatible : t.incompatible}
        </Badge>
      )}
      {found.signed && <Badge tone="ok">{t.signed}</Badge>}
    </p>
    <div class="actions">
      <span class="small muted">
        {found.publisher && t.by(found.publisher)} {found.published && <Time at={found.published} />}
      </span>
      {installed ? (
        <Badge tone="ok">
          {texts.modules.installed} {installed}
        </Badge>
      ) : (
        <button
          type="button"
          class="button main"
          disabled={found.compatible === false}
          onClick={() => install(found.spec)}
        >
          {texts.modules.install}
          <span class="hidden-text"> {found.spec}</span>
        </button>
      )}
    </div>
  </article>
)
