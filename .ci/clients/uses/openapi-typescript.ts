import createClient from 'openapi-fetch'
import type { paths } from './openapi-typescript.gen.ts'

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:3000' })

/** What has a default is left out, here and in the other two. */
export async function purchase(): Promise<string> {
  const { data, error } = await client.POST('/purchase', {
    params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
    body: { items: [{ product: 'tea', quantity: 2 }] },
  })
  if (error) throw new Error(error.code)
  return data.items.map(({ id, name }) => name ?? id).join()
}

export async function pages(): Promise<number> {
  const { data } = await client.GET('/purchase', { params: { query: { status: 'pending' } } })
  return data?.pages ?? 0
}

export const hook = () => client.POST('/webhook', { body: { url: 'https://shop.example/hook' } })
