import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { Problem } from './api.ts'
import { toProblem } from './load.ts'
import { texts } from './texts.ts'
import { Empty, ProblemNote, Waiting } from './ui/parts.tsx'

/** Each view is a file of its own, loaded when it is opened first. */
const views: Readonly<Record<string, () => Promise<{ readonly default: ComponentType }>>> = {
  now: () => import('./views/now.tsx'),
  modules: () => import('./views/modules.tsx'),
  purchases: () => import('./views/purchases.tsx'),
  carts: () => import('./views/carts.tsx'),
  products: () => import('./views/products.tsx'),
  events: () => import('./views/events.tsx'),
  webhooks: () => import('./views/webhooks.tsx'),
  jobs: () => import('./views/jobs.tsx'),
  audit: () => import('./views/audit.tsx'),
}

const loaded = new Map<string, ComponentType>()

export function View({ name }: { readonly name: string }) {
  const [problem, setProblem] = useState<Problem>()
  const [, setTurn] = useState(0)
  const load = Object.hasOwn(views, name) ? views[name] : undefined
  const again = () => setTurn((turn) => turn + 1)
  useEffect(() => {
    setProblem(undefined)
    if (!load || loaded.has(name)) return
    load().then(
      (found) => {
        loaded.set(name, found.default)
        again()
      },
      (error) => setProblem(toProblem(error)),
    )
  }, [name])
  if (!load)
    return (
      <Empty icon="search" title={texts.notFound.title}>
        {texts.notFound.text}
      </Empty>
    )
  if (problem) return <ProblemNote problem={problem} retry={() => location.reload()} />
  const Found = loaded.get(name)
  return Found ? (
    <Guarded key={name}>
      <Found />
    </Guarded>
  ) : (
    <Waiting />
  )
}

/** A response that a view cannot show leaves the rest of the page alone. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary()
  if (error === undefined) return <>{children}</>
  const problem = new Problem(0, { code: 'page', title: texts.problem.page, detail: String(error) })
  return <ProblemNote problem={problem} retry={() => location.reload()} />
}
