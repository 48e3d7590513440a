import { client } from './hey-api/client.gen.ts'
import { getPurchase, postPurchase, postWebhook } from './hey-api/index.ts'

client.setConfig({ baseUrl: 'http://127.0.0.1:3000' })

export async function purchase(): Promise<string> {
  const { data, error } = await postPurchase({
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: { items: [{ product: 'tea', quantity: 2 }] },
  })
  if (!data) throw new Error(error.code)
  return data.items.map(({ id, name }) => name ?? id).join()
}

export async function pages(): Promise<number> {
  const { data } = await getPurchase({ query: { status: 'pending' } })
  return data?.pages ?? 0
}

export const hook = () => postWebhook({ body: { url: 'https://shop.example/hook' } })
