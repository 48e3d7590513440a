import { useEffect, useRef, useState } from 'preact/hooks'
import { may, session } from './api.ts'
import { caller } from './format.ts'
import icon from './icon.svg'
import { watchKeys } from './keys.ts'
import { followLinks, href, view } from './route.ts'
import { isThere, sections, type ViewName } from './sections.ts'
import { signOut } from './sign-out.ts'
import { texts } from './texts.ts'
import { nextTheme, theme } from './theme.ts'
import { Icon, type IconName } from './ui/icon.tsx'
import { Keys } from './ui/keys-window.tsx'
import { Badge, Empty } from './ui/parts.tsx'
import { Toasts } from './ui/toast.tsx'
import { View } from './view.tsx'

const Entry = ({ name }: { readonly name: ViewName }) => (
  <a href={name === 'now' ? href() : href(name)} aria-current={view.value === name ? 'page' : undefined}>
    <Icon name={name as IconName} />
    {texts.views[name]}
  </a>
)

export function Shell() {
  const [keysShown, setKeysShown] = useState(false)
  const main = useRef<HTMLElement>(null)
  const name = session.value?.name ?? texts.console
  useEffect(() => watchKeys(() => setKeysShown(true)), [])
  useEffect(() => {
    const title = texts.views[view.value as ViewName] ?? texts.notFound.title
    document.title = `${title} · ${name}`
  }, [view.value, name])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it listens for links, which have the keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link is clicked by Enter as well
    <div onClick={followLinks}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {texts.skip}
      </button>
      <div class="shell">
        <Side name={name} />
        <Topline name={name} />
        <main id="main" tabIndex={-1} ref={main}>
          <div class="page">
            {isThere(view.value as ViewName) ? (
              <View name={view.value} />
            ) : (
              <Empty icon="modules" title={texts.notFound.title}>
                {texts.notFound.text}
              </Empty>
            )}
          </div>
        </main>
        <Bar />
      </div>
      {keysShown && <Keys close={() => setKeysShown(false)} />}
      <Toasts />
    </div>
  )
}

const Side = ({ name }: { readonly name: string }) => (
  <div class="side">
    <div class="brand">
      <img src={icon} alt="" width="26" height="26" />
      <div>
        <strong title={name}>{name}</strong>
        <span class="small muted">Mortise {session.value?.version}</span>
      </div>
    </div>
    <nav class="nav" aria-label={texts.menu}>
      {sections.map(([section, names]) => {
        const shown = names.filter(isThere)
        return (
          shown.length > 0 && (
            <div key={section}>
              <h2>{texts.sections[section]}</h2>
              {shown.map((one) => (
                <Entry key={one} name={one} />
              ))}
            </div>
          )
        )
      })}
    </nav>
    <div class="who">
      <Rights />
      <div class="row">
        <span class="name" title={session.value?.subject}>
          {caller(session.value?.subject ?? '')}
        </span>
        <Personal />
      </div>
    </div>
  </div>
)

/** What this session may do. */
const Rights = () => {
  const t = texts.changes
  if (!may('admin')) return <Badge>{t.look}</Badge>
  return session.value?.changes === 'on' ? <Badge tone="ok">{t.on}</Badge> : <Badge>{t.off}</Badge>
}

const Personal = () => (
  <span>
    <button
      type="button"
      class="button plain square"
      aria-label={`${texts.theme.label}: ${texts.theme[theme.value]}`}
      title={`${texts.theme.label}: ${texts.theme[theme.value]}`}
      onClick={nextTheme}
    >
      <Icon name="theme" />
    </button>
    <button
      type="button"
      class="button plain square"
      aria-label={texts.session.signOut}
      title={texts.session.signOut}
      onClick={() => void signOut()}
    >
      <Icon name="out" />
    </button>
  </span>
)

const Topline = ({ name }: { readonly name: string }) => (
  <div class="topline">
    <img src={icon} alt="" width="24" height="24" />
    <strong>{name}</strong>
    <Rights />
    <Personal />
  </div>
)

/** On a small screen: four views, and the others in a sheet. */
function Bar() {
  const sheet = useRef<HTMLDialogElement>(null)
  const all = sections.flatMap(([, names]) => names).filter(isThere)
  const first = (['now', 'modules', 'purchases', 'events'] as const).filter(isThere)
  const others = all.filter((name) => !first.some((one) => one === name))
  const isOther = others.some((name) => name === view.value)
  return (
    <>
      <nav class="bar" aria-label={texts.menu}>
        {first.map((name) => (
          <Entry key={name} name={name} />
        ))}
        <button
          type="button"
          aria-haspopup="dialog"
          aria-current={isOther ? 'true' : undefined}
          onClick={() => sheet.current?.showModal()}
        >
          <Icon name="more" />
          {texts.more}
        </button>
      </nav>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, and Enter clicks a link */}
      <dialog class="sheet" ref={sheet} aria-label={texts.more} onClick={() => sheet.current?.close()}>
        <nav aria-label={texts.more}>
          {others.map((name) => (
            <Entry key={name} name={name} />
          ))}
        </nav>
      </dialog>
    </>
  )
}
