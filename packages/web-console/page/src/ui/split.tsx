import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import { Icon } from './icon.tsx'

interface Props {
  readonly list: ComponentChildren
  /** What is chosen in the list: beside it where there is room, else instead of it. */
  readonly pane?: ComponentChildren
}

export const Split = ({ list, pane }: Props) => (
  <div class={pane ? 'split open' : 'split'}>
    <div class="list">{list}</div>
    {pane && <div class="pane">{pane}</div>}
  </div>
)

/** Closes the pane, to the list. */
export const ClosePane = ({ to }: { readonly to: string }) => (
  <a class="button plain square" href={to} aria-label={texts.close} title={texts.close} data-close>
    <Icon name="close" />
  </a>
)
