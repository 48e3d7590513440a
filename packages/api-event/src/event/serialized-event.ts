import { type Event, toCloudEvent } from '@mortise/module-sdk'

/** An event as streams tell it: written once for all of them. */
export class SerializedEvent {
  readonly event: Event
  #frame: Buffer | undefined

  constructor(event: Event) {
    this.event = event
  }

  /** Of Server-Sent Events. JSON has no line breaks. */
  get frame(): Buffer {
    const { id, type } = this.event
    this.#frame ??= Buffer.from(
      `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(toCloudEvent(this.event))}\n\n`,
    )
    return this.#frame
  }
}
