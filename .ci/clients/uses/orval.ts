import { getPurchase, postPurchase, postWebhook } from './orval.gen.ts'

export async function purchase(): Promise<string> {
  const answer = await postPurchase(
    { items: [{ product: 'tea', quantity: 2 }] },
    { headers: { 'Idempotency-Key': crypto.randomUUID() } },
  )
  if (answer.status !== 201) throw new Error(answer.data.code)
  return answer.data.items.map(({ id, name }) => name ?? id).join()
}

export async function pages(): Promise<number> {
  const answer = await getPurchase({ status: 'pending' })
  return answer.status === 200 ? (answer.data.pages ?? 0) : 0
}

export const hook = () => postWebhook({ url: 'https://shop.example/hook' })
