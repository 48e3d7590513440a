import { texts } from '../texts.ts'
import { Badge } from '../ui/parts.tsx'
import type { Webhook } from './webhook.ts'

const t = texts.webhooks

export const WebhookState = ({ webhook }: { readonly webhook: Webhook }) => {
  if (!webhook.enabled) return <Badge tone="bad">{t.disabled}</Badge>
  if (webhook.failingSince) return <Badge tone="warn">{t.failing}</Badge>
  if (webhook.behindSince) return <Badge tone="warn">{t.behind}</Badge>
  return <Badge tone="ok">{t.enabled}</Badge>
}
