interface CoalescerRules<Item, Result> {
  /** Does the work of items with the same key. Returns their results in the same order; a result may be a promise. */
  run: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Maximum number of items per batch. */
  max: number;
  /**
   * Runs one batch per key at a time, so that items that arrive meanwhile share the next batch. For writes that would wait
   * for one another in the database. By default a batch begins at the end of its turn of the event loop.
   */
  isSequential?: boolean;
  /** Returns whether one item may have caused an error of its batch. Each item then runs alone. Default: never. */
  isOfOneItem?: (error: unknown) => boolean;
}

interface Member<Item, Result> {
  item: Item;
  signal: AbortSignal | undefined;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (reason: unknown) => void;
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Coalesces work that arrives at the same time and has the same key: one statement does the work of many requests. With
 * several clients, most of the cost of a small statement is its round trip and its commit.
 *
 * A batch runs in the asynchronous context of its first item. So items with the same key must belong to one organization.
 */
export class Coalescer<Item, Result> {
  /** By key, the batch that still takes items. */
  private readonly open = new Map<string, Member<Item, Result>[]>();
  /** By key, resolves when the last batch has ended. */
  private readonly ends = new Map<string, Promise<void>>();

  constructor(private readonly rules: CoalescerRules<Item, Result>) {}

  /**
   * Does the work of an item, together with others. Returns its result.
   *
   * @throws the signal's reason if it is aborted before the batch begins; the batch then skips the item
   */
  add(key: readonly unknown[], item: Item, signal?: AbortSignal): Promise<Result> {
    const name = JSON.stringify(key);
    return new Promise((resolve, reject) => {
      let batch = this.open.get(name);
      if (!batch || batch.length >= this.rules.max) this.open.set(name, (batch = this.begin(name)));
      batch.push({ item, signal, resolve, reject });
    });
  }

  /** Returns a batch that runs at the end of this turn, or after the one before it. */
  private begin(name: string): Member<Item, Result>[] {
    const batch: Member<Item, Result>[] = [];
    const end = (this.ends.get(name) ?? endOfTurn()).then(() => {
      if (this.open.get(name) === batch) this.open.delete(name);
      for (const { signal, reject } of batch) if (signal?.aborted) reject(signal.reason);
      return this.run(batch.filter(({ signal }) => !signal?.aborted));
    });
    if (this.rules.isSequential) {
      this.ends.set(name, end);
      void end.then(() => {
        if (this.ends.get(name) === end) this.ends.delete(name);
      });
    }
    return batch;
  }

  /** Settles the members of a batch, and resolves when all of them are settled. */
  private async run(members: readonly Member<Item, Result>[]): Promise<void> {
    if (members.length === 0) return;
    try {
      const results = await this.rules.run(members.map(({ item }) => item));
      for (const [index, { resolve }] of members.entries()) resolve(results[index]!);
      await Promise.allSettled(results);
    } catch (error) {
      const splits = members.length > 1 && this.rules.isOfOneItem?.(error) === true;
      if (splits) await Promise.all(members.map((member) => this.run([member])));
      else for (const { reject } of members) reject(error);
    }
  }
}

/** Limits of a batch of small writes: the number of writes, and the JSON length of each write in UTF-16 code units. */
export const SMALL_WRITES = { max: 64, length: 64 * 1024 } as const;
