import { useState } from 'preact/hooks'
import { get, may } from '../api.ts'
import type { Change } from '../change/change-window.tsx'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Badge, Card, ProblemNote, Waiting } from '../ui/parts.tsx'
import type { Setting } from './module.ts'
import { Entry, fieldOf, parseEntry, showEntry } from './setting-field.tsx'

const t = texts.modules.settings

interface Props {
  readonly id: string
  readonly turn: number
  change(change: Change): void
}

/** The settings of a module: each is a form, made from its schema. */
export function Settings({ id, turn, change }: Props) {
  const { data, problem, reload } = useLoad(
    async (signal) => {
      const { settings } = await get<{ settings: readonly Setting[] }>('operator/config', signal)
      return settings.filter(({ key }) => key.startsWith(`${id}.`))
    },
    [id, turn],
    undefined,
    `settings ${id}`,
  )
  return (
    <Card title={texts.modules.detail.settings}>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!data && !problem && <Waiting />}
      {data?.length === 0 && <div class="body muted">{texts.modules.detail.noSettings}</div>}
      {data?.map((setting) => (
        <Row
          key={`${setting.key} ${JSON.stringify(setting.value)}`}
          id={id}
          setting={setting}
          change={change}
        />
      ))}
    </Card>
  )
}

function Row({
  id,
  setting,
  change,
}: {
  readonly id: string
  readonly setting: Setting
  change(change: Change): void
}) {
  const field = fieldOf(setting)
  const before = showEntry(field, setting.value)
  const [text, setText] = useState(before)
  const value = parseEntry(field, text)
  const isChanged = text !== before
  const name = setting.key.slice(id.length + 1)
  const isOurs = setting.source === 'app.config.json'
  const input = `setting-${name}`
  return (
    <form
      class="setting"
      onSubmit={(event) => {
        event.preventDefault()
        if (value === undefined || !isChanged) return
        change({
          title: t.change(name),
          command: 'config-set',
          args: [setting.key, value],
        })
      }}
    >
      <div>
        <label class="strong" for={field.isSecret ? undefined : input}>
          <code>{name}</code>
        </label>{' '}
        {setting.source !== 'default' && (
          <Badge tone="info" bare>
            {t.from(setting.source)}
          </Badge>
        )}
        <p class="muted small" id={`${input}-text`}>
          {setting.description}
          {field.range && ` · ${field.range}`}
          {setting.default !== null && ` · ${t.default(showEntry(field, setting.default) || '""')}`}
        </p>
      </div>
      <div class="stack tight">
        {field.isSecret ? (
          <p class="small">
            {field.isSet ? t.secret : t.secretUnset} {t.secretPlace} <code>{setting.variable}</code>
          </p>
        ) : (
          <Entry
            field={field}
            id={input}
            describedBy={`${input}-text`}
            text={text}
            isInvalid={isChanged && value === undefined}
            isReadOnly={!may('admin')}
            set={setText}
          />
        )}
        {isChanged && value === undefined && <p class="small">{t.invalid}</p>}
        {may('admin') && (isChanged || isOurs) && (
          <div class="row">
            {isChanged && (
              <button type="submit" class="button tiny main" disabled={value === undefined}>
                {texts.save}
              </button>
            )}
            {isChanged && (
              <button type="button" class="button tiny" onClick={() => setText(before)}>
                {texts.cancel}
              </button>
            )}
            {!isChanged && isOurs && (
              <button
                type="button"
                class="button tiny"
                onClick={() =>
                  change({ title: t.change(name), command: 'config-unset', args: [setting.key] })
                }
              >
                {t.reset}
              </button>
            )}
          </div>
        )}
      </div>
    </form>
  )
}
