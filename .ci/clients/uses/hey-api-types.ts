import type { GetPurchaseData, PostPurchaseData, Purchase } from './hey-api/types.gen.ts'

export const purchase: PostPurchaseData['body'] = { items: [{ product: 'tea', quantity: 2 }] }
export const query: GetPurchaseData['query'] = { status: 'pending' }
export const named = ({ items }: Purchase) => items.map(({ id, name }) => name ?? id)
