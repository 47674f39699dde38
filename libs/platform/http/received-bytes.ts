/** Pieces up to this size are put together: a sender of single bytes does not make an object of each. */
const BLOCK_BYTES = 16 * 1024;

/** Bytes in the order in which they came, kept in blocks. */
export class ReceivedBytes {
  readonly blocks: Buffer[] = [];
  private pieces: Buffer[] = [];
  private waiting = 0;

  /** @returns the block that is full with it, if one is. */
  add(piece: Buffer): Buffer | undefined {
    this.pieces.push(piece);
    this.waiting += piece.length;
    return this.waiting < BLOCK_BYTES ? undefined : this.end();
  }

  /** @returns the last block, unless there is nothing in it. */
  end(): Buffer | undefined {
    if (this.waiting === 0) return undefined;
    const block = joined(this.pieces, this.waiting);
    this.blocks.push(block);
    this.pieces = [];
    this.waiting = 0;
    return block;
  }

  /** All of them. */
  whole(): Buffer {
    this.end();
    return joined(this.blocks);
  }
}

const joined = (pieces: readonly Buffer[], size?: number): Buffer =>
  pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, size);
