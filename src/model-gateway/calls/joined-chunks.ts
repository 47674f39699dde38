/** Size of the parts in which small chunks are joined, in bytes. */
const PART_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** Collects the chunks of a body. Small ones are joined at once, because each of millions would cost far more than its bytes. */
export class JoinedChunks {
  /** Bytes so far. */
  size = 0;
  private readonly parts: Buffer[] = [];
  private part = NOTHING;
  private used = 0;

  add(chunk: Buffer): void {
    this.size += chunk.length;
    if (this.used + chunk.length > this.part.length) this.finishPart();
    if (chunk.length >= PART_BYTES) {
      this.parts.push(chunk);
      return;
    }
    if (this.part.length === 0) this.part = Buffer.allocUnsafeSlow(PART_BYTES);
    this.used += chunk.copy(this.part, this.used);
  }

  /** Returns all bytes. No chunk can be added afterwards. */
  joined(): Buffer {
    this.finishPart();
    return Buffer.concat(this.parts, this.size);
  }

  private finishPart(): void {
    if (this.used > 0) this.parts.push(this.part.subarray(0, this.used));
    this.part = NOTHING;
    this.used = 0;
  }
}
