import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { BUILTIN_IDENTITY, embedBuiltin } from './builtin.embedder';
import type { Embedder } from './embedder';

const BATCH = 100;
/** Texts before others get their turn: some milliseconds. */
const AT_ONCE = 20;

/** The built-in embedder as any other is asked. */
@Injectable()
export class BuiltinBatches implements Embedder {
  readonly identity = BUILTIN_IDENTITY;
  readonly batch = BATCH;

  async embed(texts: readonly string[]): Promise<(Float64Array | null)[]> {
    const vectors: (Float64Array | null)[] = [];
    for (const [index, text] of texts.entries()) {
      if (index > 0 && index % AT_ONCE === 0) await turn();
      vectors.push(embedBuiltin(text));
    }
    return vectors;
  }
}
