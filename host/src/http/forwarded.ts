import type { IncomingHttpHeaders } from 'node:http'

/** Headers that proxies, load balancers and content delivery networks add. */
const ADDED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-original-forwarded-for',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'cdn-loop',
  'fastly-client-ip',
  'fly-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-envoy-external-address',
]

/** Whether a request came through a proxy: the address of its connection says nothing about the client. */
export const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  ADDED.some((name) => headers[name] !== undefined)
