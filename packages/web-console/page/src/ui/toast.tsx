import { signal } from '@preact/signals'

const shown = signal<readonly { readonly id: number; readonly text: string }[]>([])
let last = 0

/** Says for some seconds that something was done. */
export function toast(text: string): void {
  const id = ++last
  shown.value = [...shown.value, { id, text }]
  setTimeout(() => {
    shown.value = shown.value.filter((one) => one.id !== id)
  }, 4000)
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {shown.value.map(({ id, text }) => (
      <div class="toast" key={id}>
        {text}
      </div>
    ))}
  </div>
)
