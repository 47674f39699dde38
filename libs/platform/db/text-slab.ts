/** A text in UTF-8, as a part of a buffer. */
export interface TextSlice {
  buffer: Buffer;
  start: number;
  end: number;
}

/** Stores texts in UTF-8 outside of the JavaScript heap, where texts that wait for a statement cost no garbage collection. */
export class TextSlab {
  private buffer = Buffer.alloc(0);
  private length = 0;

  /** @param chunkBytes size of a buffer, unless a text needs more */
  constructor(private readonly chunkBytes: number) {}

  add(text: string): TextSlice {
    const size = Buffer.byteLength(text);
    if (this.length + size > this.buffer.length) {
      this.buffer = Buffer.allocUnsafeSlow(Math.max(size, this.chunkBytes));
      this.length = 0;
    }
    const start = this.length;
    this.length += this.buffer.write(text, start);
    return { buffer: this.buffer, start, end: this.length };
  }
}
