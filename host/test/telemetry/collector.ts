import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'

type Attributes = Readonly<Record<string, unknown>>

export interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** 0: unset, 2: an error. */
  readonly status: number
  readonly attributes: Attributes
  readonly resource: Attributes
}

type Valued = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Valued }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'status' | 'attributes'> & {
        readonly status: { readonly code: number }
        readonly attributes: Valued
      })[]
    }[]
  }[]
}

/** Takes traces by OTLP/HTTP, in JSON. */
export async function startCollector(t: Test) {
  const spans: Span[] = []
  const bodies: string[] = []
  const state = { batches: 0, response: (response: ServerResponse): unknown => response.end('{}') }
  const news = new EventTarget()
  const server = createServer(async (request, response) => {
    const sent = (await json(request)) as Sent
    state.batches += 1
    bodies.push(JSON.stringify(sent))
    if (request.url === '/v1/traces') spans.push(...spansOf(sent))
    state.response(response)
    news.dispatchEvent(new Event('batch'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  t.teardown(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** What was sent, as it was. */
    bodies,
    close,
    /** What it responds with from now on. */
    respondWith(response: typeof state.response): void {
      state.response = response
    },
    /** Resolves to a value as soon as there is one: looks again after each batch. */
    async until<Value>(look: () => Value | undefined): Promise<Value> {
      for (;;) {
        const found = look()
        if (found !== undefined) return found
        await once(news, 'batch')
      }
    },
  }
}

function spansOf({ resourceSpans }: Sent): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        status: span.status.code,
        attributes: plain(span.attributes),
        resource: plain(resource.attributes),
      })),
    ),
  )
}

const plain = (attributes: Valued): Attributes =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
