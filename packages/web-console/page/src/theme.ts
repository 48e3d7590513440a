import { signal } from '@preact/signals'

export type Theme = 'auto' | 'light' | 'dark'
export const theme = signal<Theme>('auto')
const order: readonly Theme[] = ['auto', 'light', 'dark']

function apply(next: Theme): void {
  theme.value = next
  if (next === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = next
}

export function readTheme(): void {
  const stored = localStorage.getItem('mortise-theme') as Theme | null
  if (stored && order.includes(stored)) apply(stored)
}

export function nextTheme(): void {
  const next = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'auto'
  localStorage.setItem('mortise-theme', next)
  apply(next)
}
