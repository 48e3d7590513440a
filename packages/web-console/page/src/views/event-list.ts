export interface CloudEvent {
  readonly id: string
  readonly type: string
  readonly source: string
  readonly subject: string
  readonly time: string
  readonly data: unknown
  readonly owner?: string
}

/** A page of events, newest first. */
export interface EventPage {
  readonly data: readonly CloudEvent[]
  /** Where older events begin; null at the end of the log. */
  readonly before: number | string | null
}
