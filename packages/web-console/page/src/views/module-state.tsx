import { texts } from '../texts.ts'
import { Badge } from '../ui/parts.tsx'
import { type Installed, stateTones } from './module.ts'

const t = texts.modules

export const State = ({ module: { state } }: { readonly module: Installed }) => (
  <Badge tone={stateTones[state as keyof typeof stateTones] ?? 'idle'}>{t.states[state] ?? state}</Badge>
)
