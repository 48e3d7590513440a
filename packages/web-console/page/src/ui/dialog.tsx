import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Icon } from './icon.tsx'

interface Props {
  readonly title: string
  readonly children: ComponentChildren
  readonly footer?: ComponentChildren
  close(): void
}

/** A modal window: the browser keeps the focus inside, and Escape closes it. */
export function Window({ title, children, footer, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog class="window" ref={dialog} aria-label={title} onClose={close}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          class="button plain square"
          aria-label={texts.close}
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="body">{children}</div>
      {footer && <footer>{footer}</footer>}
    </dialog>
  )
}
