import { type Joined, joinedTransaction, runAs, runUnjoined } from './current-owner';
import { FairLimiter } from './fair-limiter';
import { FairQueue, type OwnerPath } from './fair-queue';
import { yieldToEventLoop } from './time-slice';

export interface BatchRules<Item, Result, Ready = Item> {
  /** Does the work of a batch, completely or not at all. Returns results in the order of the items; they may be promises. */
  run: (items: readonly Ready[]) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Weight at which a batch is full. A single item may weigh more. */
  max: number;
  /** Default: each item weighs 1. */
  weightOf?: (ready: Ready) => number;
  /** Prepares an item when its batch is formed. An item whose preparation fails takes no part in the batch. */
  prepare?: (item: Item) => Ready | Promise<Ready>;
  /** Whether one item may have caused an error of its batch. The batch is then split in halves. Default: never. */
  isOfOneItem?: (error: unknown) => boolean;
  /**
   * Runs the batches of an owner one after the other, so that items that arrive meanwhile share the next one. For writes that
   * would wait for one another in the database. By default they run concurrently.
   */
  isSequential?: boolean;
  /**
   * The batches write. Work whose statements join one transaction then shares that transaction with the other work of its
   * batch, or writes its item alone if the transaction is already open. A result of null says that an item was not written.
   * Not for shared batches.
   */
  isWriting?: boolean;
  /** Batches with the items of several owners. By default, each owner has batches of its own. */
  shared?: SharedBatches;
}

interface SharedBatches {
  /** Limits how many batches run at once. Several batchers may share it, and take turns with other work. */
  limiter: FairLimiter;
  /** Owner of the batches in the limiter, and of their database connections. */
  owner: string;
  /** Makes batches wait for more items: until `isFull`, but not longer than `maxMs`. */
  filling?: { maxMs: number; isFull: (waiting: number) => boolean };
}

interface Waiter<Item, Result> {
  item: Item;
  /** The transaction that the item's work joins. */
  joined: Joined | undefined;
  signal: AbortSignal | undefined;
  /** Detaches the waiter from its signal. */
  begin(): void;
  resolve(result: Result | Promise<Result>): void;
  reject(reason: unknown): void;
}

/** A waiter with a prepared item. */
interface Member<Item, Result, Ready> {
  waiter: Waiter<Item, Result>;
  ready: Ready;
}

/** Items that wait for their batches. */
interface Queue<Item, Result> {
  name: string;
  waiting: FairQueue<Waiter<Item, Result>>;
  limiter: FairLimiter | undefined;
  /** Batches that collect items until their turn comes: at most one. */
  collecting: number;
  running: number;
  /** Ends the wait for more items. */
  endFilling?: () => void;
}

/**
 * Does small pieces of work together that arrive at the same time: several items in one statement or one transaction. Most of
 * the cost of a small statement is its round trip and its commit. Items that arrive while a batch waits or runs form the next
 * one. Unless the rules say otherwise, a batch does not wait for further items.
 *
 * In batches that owners share, organizations take turns, and workspaces within them. Other batches run in the asynchronous
 * context of their first item.
 */
export class Batcher<Item, Result, Ready = Item> {
  private readonly queues = new Map<string, Queue<Item, Result>>();

  constructor(private readonly rules: BatchRules<Item, Result, Ready>) {}

  /**
   * Does the work of an item, together with others. Returns its result.
   *
   * @param owner of the item: a key whose items belong to one organization or, for shared batches, an owner who takes turns
   * @throws the signal's reason, if it is aborted before the item's batch is formed; else the error of preparing or running it
   */
  add(owner: readonly unknown[], item: Item, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const { shared, isWriting } = this.rules;
    const joined = isWriting ? joinedTransaction() : undefined;
    if (joined?.isOpen) return this.runAlone(item);
    const queue = this.queueOf(shared ? '' : JSON.stringify(joined ? [...owner, 'joined'] : owner));
    const path = shared ? (owner as OwnerPath) : [];
    return new Promise<Result>((resolve, reject) => {
      const leave = (): void => {
        queue.waiting.remove(path, waiter);
        reject(signal?.reason as Error);
      };
      const begin = (): void => signal?.removeEventListener('abort', leave);
      const waiter: Waiter<Item, Result> = { item, joined, signal, begin, resolve, reject };
      signal?.addEventListener('abort', leave, { once: true });
      queue.waiting.push(path, waiter);
      if (shared?.filling?.isFull(queue.waiting.size)) queue.endFilling?.();
      if (queue.collecting > 0) return;
      if (shared) void runAs(shared.owner, () => this.collect(queue));
      else void runUnjoined(() => this.collect(queue));
    });
  }

  private async runAlone(item: Item): Promise<Result> {
    const { prepare, run } = this.rules;
    const [result] = await run([prepare ? await prepare(item) : (item as unknown as Ready)]);
    return result!;
  }

  private queueOf(name: string): Queue<Item, Result> {
    let queue = this.queues.get(name);
    if (!queue) {
      const { shared, isSequential } = this.rules;
      const limiter = shared?.limiter ?? (isSequential ? new FairLimiter({ concurrency: 1 }) : undefined);
      queue = { name, waiting: new FairQueue(), limiter, collecting: 0, running: 0 };
      this.queues.set(name, queue);
    }
    return queue;
  }

  /** Runs a batch of the items that wait when its turn comes, and another one if it leaves items. */
  private async collect(queue: Queue<Item, Result>): Promise<void> {
    const { shared } = this.rules;
    queue.collecting++;
    // items of the same turn of the event loop share a batch of their owner
    if (!shared) await yieldToEventLoop();
    else if (shared.filling) await fill(queue, shared.filling);
    const work = async (): Promise<void> => {
      queue.collecting--;
      queue.running++;
      const batch = await this.nextBatch(queue);
      if (queue.waiting.size > 0 && queue.collecting === 0) void this.collect(queue);
      await this.run(batch);
      queue.running--;
    };
    await (queue.limiter ? queue.limiter.run(shared?.owner ?? '', undefined, work) : work());
    if (queue.collecting + queue.running === 0) this.queues.delete(queue.name);
  }

  /** Forms a batch of the items that wait now. Yields to the event loop between items, if preparing them takes time. */
  private async nextBatch({ waiting }: Queue<Item, Result>): Promise<Member<Item, Result, Ready>[]> {
    const { max, weightOf = () => 1, prepare } = this.rules;
    const batch: Member<Item, Result, Ready>[] = [];
    let weight = 0;
    for (let left = waiting.size; left > 0 && weight < max; left--) {
      const waiter = waiting.shift();
      if (!waiter) break;
      waiter.begin();
      try {
        const ready = prepare ? await prepare(waiter.item) : (waiter.item as unknown as Ready);
        weight += weightOf(ready);
        batch.push({ waiter, ready });
      } catch (error) {
        waiter.reject(error);
      }
      if (prepare) await yieldToEventLoop();
    }
    return batch;
  }

  /** Settles the members of a batch, and resolves when all of them are settled. */
  private async run(batch: readonly Member<Item, Result, Ready>[]): Promise<void> {
    if (batch.length === 0) return; // all items joined another batch, or none could be prepared
    const run = () => this.rules.run(batch.map(({ ready }) => ready));
    const joined = batch.flatMap(({ waiter }) => waiter.joined ?? []);
    try {
      const { results, ended } = joined[0]
        ? await joined[0].share(joined, run)
        : { results: await run(), ended: undefined };
      for (const [index, { waiter }] of batch.entries()) waiter.resolve(results[index]!);
      await Promise.allSettled([...results, ended]);
    } catch (error) {
      if (batch.length > 1 && this.rules.isOfOneItem?.(error)) await this.runHalves(batch);
      else for (const { waiter } of batch) waiter.reject(error);
    }
  }

  /** Runs each half as a batch, without items whose signal is aborted. */
  private async runHalves(batch: readonly Member<Item, Result, Ready>[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      for (const { waiter } of half) if (waiter.signal?.aborted) waiter.reject(waiter.signal.reason);
      await this.run(half.filter(({ waiter }) => !waiter.signal?.aborted));
    }
  }
}

/** Waits until enough items wait, but no longer than `maxMs`. */
async function fill<Item, Result>(
  queue: Queue<Item, Result>,
  { maxMs, isFull }: NonNullable<SharedBatches['filling']>,
): Promise<void> {
  if (isFull(queue.waiting.size)) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, maxMs);
    queue.endFilling = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  delete queue.endFilling;
}

/** Limits of a batch of small writes: the number of writes, and the JSON length of each write in UTF-16 code units. */
export const SMALL_WRITES = { max: 64, length: 64 * 1024 } as const;
