import type { ProductChanged } from './schemas.ts'

declare module '@mortise/module-sdk' {
  interface EventTypes {
    'product.changed': ProductChanged
  }
}
