const paths = {
  now: 'M2 9h3l2-5 3 8 2-5h2',
  modules: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM11.25 9v4.5M9 11.25h4.5',
  purchases: 'M3.5 2h9v12l-1.5-1-1.5 1L8 13l-1.5 1L5 13l-1.5 1zM6 5.5h4M6 8.5h4',
  carts: 'M1.5 2.5h2l1.6 7.5h6.8l1.6-5.5H4.2M6 13.2h.01M11 13.2h.01',
  products: 'M8 1.8 13.5 4.6v6.8L8 14.2 2.5 11.4V4.6zM2.5 4.6 8 7.4l5.5-2.8M8 7.4v6.8',
  events: 'M9 1.5 3 9h4.5L7 14.5 13 7H8.5z',
  webhooks:
    'M6 9.5 3.8 13M10 9.5h4M8 6.5 5.8 3M4 11.2a2 2 0 1 0 1.9 2.6h4.2a2 2 0 1 0 1.2-2.5L9.4 7.6A2.6 2.6 0 1 0 5.6 5',
  jobs: 'M8 2.2a5.8 5.8 0 1 0 5.8 5.8M8 4.8V8l2.3 1.6M10.6 2.2h3.2v3.2',
  audit: 'M3 2h7l3 3v9H3zM10 2v3h3M5.5 8h5M5.5 11h5',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  check: 'M3 8.5l3.2 3L13 4.8',
  warn: 'M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01',
  error: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.8v3.7M8 11h.01',
  out: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  theme: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12M8 4.5h4.6M8 8h6M8 11.5h4.6',
  refresh: 'M13.5 3v3.5H10M2.5 13V9.5H6M12.9 6.5A5.2 5.2 0 0 0 3.4 6M3.1 9.5a5.2 5.2 0 0 0 9.5.5',
  back: 'M9.5 3.5 5 8l4.5 4.5',
} as const

export type IconName = keyof typeof paths

/** Decoration: what it means stands beside it, or in the label of its button. */
export const Icon = ({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width={name === 'more' ? 2.4 : 1.4}
    stroke-linecap="round"
    stroke-linejoin="round"
  >
    <path d={paths[name]} />
  </svg>
)
