/** A call to the file system with its data, or a response to a caller. */
export type Operation =
  | {
      readonly kind: 'open'
      readonly path: string
      readonly descriptor: number
      readonly create: boolean
      readonly truncate: boolean
      readonly append: boolean
    }
  /** Without an offset it writes at the position of the descriptor. */
  | {
      readonly kind: 'write'
      readonly path: string
      readonly descriptor: number
      readonly bytes: Buffer
      readonly offset: number | undefined
    }
  | {
      readonly kind: 'copy'
      readonly from: string
      readonly path: string
      readonly bytes: number
      readonly fromOffset: number | undefined
      readonly offset: number | undefined
    }
  | { readonly kind: 'resize'; readonly path: string; readonly size: number }
  | { readonly kind: 'folder' | 'remove'; readonly path: string }
  | { readonly kind: 'rename' | 'link'; readonly path: string; readonly to: string }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string }
  /** It covers the operations before position `begun` of the record. */
  | { readonly kind: 'sync'; readonly path: string; readonly failed: boolean; readonly begun: number }
  | { readonly kind: 'response'; readonly text: string }
