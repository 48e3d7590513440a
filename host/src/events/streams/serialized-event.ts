import { type Event, toCloudEvent } from '@mortise/module-sdk'

/** An event in the form for streams, serialized once for all of them. */
export class SerializedEvent {
  readonly event: Event
  #frame: Buffer | undefined

  constructor(event: Event) {
    this.event = event
  }

  /** A frame of Server-Sent Events. JSON contains no line breaks. */
  get frame(): Buffer {
    const { id, type } = this.event
    this.#frame ??= Buffer.from(
      `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(toCloudEvent(this.event))}\n\n`,
    )
    return this.#frame
  }
}
