import { texts } from '../texts.ts'
import { Window } from './dialog.tsx'

export const Keys = ({ close }: { readonly close: () => void }) => (
  <Window title={texts.keys.title} close={close}>
    <dl class="facts">
      {texts.keys.list.map(([key, text]) => (
        <>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </>
      ))}
    </dl>
  </Window>
)
