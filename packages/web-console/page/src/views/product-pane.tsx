import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { may, type Problem, request } from '../api.ts'
import { toProblem, useLoad } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Note, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { ClosePane } from '../ui/split.tsx'
import { toast } from '../ui/toast.tsx'
import { changesIn, type Draft, errorsIn, fields, merged, type Product, toDraft } from './product.ts'

const t = texts.products
type Found = { readonly body: Product; readonly etag: string | null }

const read = (id: string, signal?: AbortSignal) =>
  request<Product>(`api/product/${encodeURIComponent(id)}`, signal ? { signal } : {})

export function ProductPane({ id, changed }: { readonly id: string; changed(): void }) {
  const { data, problem, reload, set } = useLoad((signal) => read(id, signal), [id])
  const close = <ClosePane to={href('products') + location.search} />
  return (
    <Card title={data?.body.name ?? id} actions={close}>
      {problem && (
        <div class="body">
          <ProblemNote problem={problem} retry={reload} />
        </div>
      )}
      {!data && !problem && <Waiting />}
      {data && (
        <Form
          found={data}
          saved={(found) => {
            set(found)
            changed()
          }}
        />
      )}
    </Card>
  )
}

/** Edits in place. A conflict keeps what was typed, and shows what the host has. */
function Form({ found, saved }: { readonly found: Found; saved(found: Found): void }) {
  const [draft, setDraft] = useState<Draft>(toDraft(found.body))
  const [theirs, setTheirs] = useState<Found>()
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const manages = may('admin')
  const errors = errorsIn(draft, found.body.price)
  const isValid = Object.keys(errors).length === 0
  const isChanged = JSON.stringify(draft) !== JSON.stringify(toDraft(found.body))

  /** @param etag of the version that the change replaces */
  const save = async (etag: string | null) => {
    const { id } = found.body
    setBusy(true)
    setProblem(undefined)
    try {
      await request(`api/product/${encodeURIComponent(id)}`, {
        method: 'PATCH',
        body: changesIn(draft, (theirs ?? found).body),
        ...(etag && { ifMatch: etag }),
      })
      const now = await read(id)
      setTheirs(undefined)
      setDraft(toDraft(now.body))
      saved(now)
      toast(texts.saved)
    } catch (error) {
      const problem = toProblem(error)
      const now = problem.status === 412 ? await read(id).catch(() => undefined) : undefined
      if (now) {
        setDraft(merged(draft, (theirs ?? found).body, now.body))
        setTheirs(now)
      } else setProblem(problem)
    }
    setBusy(false)
  }
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change })
  const { currency } = found.body.price

  return (
    <form
      class="body stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isValid) void save((theirs ?? found).etag)
      }}
    >
      <Field id="name" label={t.name}>
        <input
          class="input"
          id="name"
          required
          maxLength={200}
          readOnly={!manages}
          value={draft.name}
          onInput={(event) => set({ name: event.currentTarget.value })}
        />
      </Field>
      <div class="pair">
        <NumberField
          id="price"
          label={`${t.price} (${currency})`}
          inputMode="decimal"
          error={errors.price}
          readOnly={!manages}
          value={draft.price}
          set={(price) => set({ price })}
        />
        <NumberField
          id="stock"
          label={t.stock}
          inputMode="numeric"
          error={errors.stock}
          hint={t.stockHint}
          readOnly={!manages}
          value={draft.stock}
          set={(stock) => set({ stock })}
        />
      </div>
      <Field id="description" label={t.description}>
        <textarea
          class="input"
          id="description"
          rows={4}
          readOnly={!manages}
          value={draft.description}
          onInput={(event) => set({ description: event.currentTarget.value })}
        />
      </Field>
      <label class="check">
        <input
          type="checkbox"
          disabled={!manages}
          checked={draft.active}
          onChange={(event) => set({ active: event.currentTarget.checked })}
        />
        {t.active}
      </label>
      {theirs && <Conflict draft={draft} before={found.body} theirs={theirs.body} />}
      {problem && <ProblemNote problem={problem} />}
      <div class="actions">
        {theirs ? (
          <>
            <button
              type="button"
              class="button main"
              disabled={isBusy || !isValid}
              onClick={() => void save(theirs.etag)}
            >
              {t.keepMine}
            </button>
            <button
              type="button"
              class="button"
              onClick={() => {
                setDraft(toDraft(theirs.body))
                saved(theirs)
                setTheirs(undefined)
              }}
            >
              {t.takeTheirs}
            </button>
          </>
        ) : (
          manages && (
            <>
              <button type="submit" class="button main" disabled={isBusy || !isValid || !isChanged}>
                {texts.save}
              </button>
              {isChanged && (
                <button type="button" class="button" onClick={() => setDraft(toDraft(found.body))}>
                  {texts.cancel}
                </button>
              )}
            </>
          )
        )}
      </div>
      <p class="small muted">
        {t.updated} <Time at={found.body.updatedAt} /> · <code>{found.body.id}</code>
      </p>
    </form>
  )
}

interface FieldProps {
  readonly id: string
  readonly label: string
  /** An error, or a hint. */
  readonly note?: string | undefined
  readonly children: ComponentChildren
}

const Field = ({ id, label, note, children }: FieldProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    {note && (
      <p class="small muted" id={`${id}-note`}>
        {note}
      </p>
    )}
  </div>
)

interface NumberFieldProps extends Omit<FieldProps, 'children' | 'note'> {
  readonly inputMode: 'decimal' | 'numeric'
  readonly error: string | undefined
  readonly hint?: string
  readonly readOnly: boolean
  readonly value: string
  set(value: string): void
}

const NumberField = ({ id, label, error, hint, set, ...input }: NumberFieldProps) => (
  <Field id={id} label={label} note={error ?? hint}>
    <input
      {...input}
      class="input"
      id={id}
      aria-invalid={error ? 'true' : undefined}
      aria-describedby={(error ?? hint) ? `${id}-note` : undefined}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </Field>
)

interface ConflictProps {
  readonly draft: Draft
  readonly before: Product
  readonly theirs: Product
}

function Conflict({ draft, before, theirs }: ConflictProps) {
  const [old, host] = [toDraft(before), toDraft(theirs)]
  const names = fields.filter((name) => host[name] !== old[name] || draft[name] !== old[name])
  return (
    <Note tone="warn">
      <p class="strong">{t.conflictTitle}</p>
      <p>{t.conflictLead}</p>
      <table>
        <thead>
          <tr>
            <th />
            <th>{t.theirs}</th>
            <th>{t.yours}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <td>{t[name]}</td>
              <td class="wrap">{String(host[name])}</td>
              <td class="wrap">{String(draft[name])}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Note>
  )
}
