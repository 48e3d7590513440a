/** The bytes of a growing file. */
export class Bytes {
  #buffer: Buffer
  #size: number

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.#buffer = Buffer.from(content)
    this.#size = content.length
  }

  get size(): number {
    return this.#size
  }

  /** Read only. */
  get content(): Buffer {
    return this.#buffer.subarray(0, this.#size)
  }

  copy(): Bytes {
    return new Bytes(this.content)
  }

  write(offset: number, bytes: Buffer): void {
    if (offset + bytes.length > this.#size) this.resize(offset + bytes.length)
    bytes.copy(this.#buffer, offset)
  }

  /** New bytes are zero. */
  resize(size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(size, this.#buffer.length * 2))
      this.content.copy(larger)
      this.#buffer = larger
    }
    this.#buffer.fill(0, Math.min(size, this.#size), Math.max(size, this.#size))
    this.#size = size
  }
}
