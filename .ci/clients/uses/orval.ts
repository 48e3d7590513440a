import { getPurchase, postPurchase, postWebhook } from './orval.gen.ts'

export async function purchase(): Promise<string> {
  const response = await postPurchase(
    { items: [{ product: 'tea', quantity: 2 }] },
    { headers: { 'Idempotency-Key': crypto.randomUUID() } },
  )
  if (response.status !== 201) throw new Error(response.data.code)
  return response.data.items.map(({ id, name }) => name ?? id).join()
}

export async function pages(): Promise<number> {
  const response = await getPurchase({ status: 'pending' })
  return response.status === 200 ? (response.data.pages ?? 0) : 0
}

export const hook = () => postWebhook({ url: 'https://shop.example/hook' })
