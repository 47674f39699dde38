export interface BatchRules<Item, Result> {
  /** Does the work of several items with the same key. Returns their results in the same order. */
  run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of a batch, at most. Unlimited by default. */
  max?: number;
  /**
   * Whether a batch waits for the one before it with the same key, so that more items share it. For writes that would wait for
   * one another in the database. By default a batch begins at the end of its turn of the event loop.
   */
  takesTurns?: boolean;
}

interface Batch<Item, Result> {
  items: Item[];
  results: Promise<readonly Result[]>;
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const drop = (): void => undefined;

/**
 * Does work that arrives at the same time, and has the same key, together. With several clients, most of the cost of a small
 * statement is its round trip and its commit.
 *
 * A batch runs in the asynchronous context of its first item. So items with the same key must belong to one organization.
 */
export class Batches<Item, Result> {
  /** By key, the batch that still takes items. */
  private readonly open = new Map<string, Batch<Item, Result>>();
  /** By key, settles when the last batch that has begun or waits for its turn has ended. */
  private readonly ends = new Map<string, Promise<void>>();

  constructor(private readonly rules: BatchRules<Item, Result>) {}

  /** Does the work of an item. Returns its result, or throws the error of its batch. */
  async add(key: string, item: Item): Promise<Result> {
    const { max = Infinity } = this.rules;
    let batch = this.open.get(key);
    if (!batch || batch.items.length >= max) batch = this.begin(key);
    const index = batch.items.push(item) - 1;
    return (await batch.results)[index]!;
  }

  private begin(key: string): Batch<Item, Result> {
    const items: Item[] = [];
    const results = (this.ends.get(key) ?? endOfTurn()).then(() => {
      if (this.open.get(key) === batch) this.open.delete(key);
      return this.rules.run(key, items);
    });
    const batch = { items, results };
    this.open.set(key, batch);
    if (this.rules.takesTurns) {
      const end = results.then(drop, drop);
      this.ends.set(key, end);
      void end.then(() => {
        if (this.ends.get(key) === end) this.ends.delete(key);
      });
    }
    return batch;
  }
}
