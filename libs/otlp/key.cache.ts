const SLOTS = 256;

/**
 * Decodes each attribute key of a request once. The spans of a batch repeat the same dozen keys, and creating a string takes
 * several times as long as comparing its bytes. Without the cache, creating keys took a third of the time to decode a batch.
 *
 * It is a direct-mapped table of fixed size: a key replaces the previous key in its slot.
 */
export class KeyCache {
  private readonly keys: string[] = new Array<string>(SLOTS).fill('');
  private readonly starts = new Int32Array(SLOTS);
  private readonly lengths = new Int32Array(SLOTS);

  constructor(
    private readonly bytes: Buffer,
    private readonly decode: (start: number, end: number) => string,
  ) {}

  /** Returns the key in the bytes from `start` to `end` of the request. */
  get(start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    const slot = this.slotOf(start, length);
    if (this.lengths[slot] === length && this.sameBytes(this.starts[slot] as number, start, length)) {
      return this.keys[slot] as string;
    }
    const key = this.decode(start, end);
    this.keys[slot] = key;
    this.starts[slot] = start;
    this.lengths[slot] = length;
    return key;
  }

  private slotOf(start: number, length: number): number {
    const bytes = this.bytes;
    const last = start + length - 1;
    const quarter = length >> 2;
    const hash =
      length * 2533 +
      (bytes[start + quarter] as number) * 7 +
      (bytes[start + (length >> 1)] as number) * 131 +
      (bytes[last - quarter] as number) * 17 +
      (bytes[last] as number) * 31;
    return (hash ^ (hash >> 8)) % SLOTS;
  }

  private sameBytes(one: number, other: number, length: number): boolean {
    const bytes = this.bytes;
    for (let index = 0; index < length; index += 1) {
      if (bytes[one + index] !== bytes[other + index]) return false;
    }
    return true;
  }
}
