import { runAs } from './current-owner';
import type { FairLimiter } from './fair-limiter';
import { FairQueue, type OwnerPath } from './fair-queue';
import { yieldToEventLoop } from './time-slice';

/** How long a group waits for more items. For a limiter that writes one group at a time. */
export interface Filling {
  /** Longest wait of a group, in milliseconds. */
  maxMs: number;
  /** Tells whether a group need not wait any longer. */
  isFull: (waiting: number) => boolean;
}

export interface GroupRules<Item, Ready, Result> {
  /** Limits how many groups are written at once. Several kinds of groups may share it, and take turns with other work. */
  limiter: FairLimiter;
  /** Owner of the groups in the limiter, and of their database connections. */
  owner: string;
  /** Prepares an item when its group is formed. An item whose preparation fails is not written. */
  prepare: (item: Item) => Ready | Promise<Ready>;
  /** Weight at which a group is full. A single item may weigh more. */
  maxWeight: number;
  weightOf: (ready: Ready) => number;
  /** By default, no group waits for more items. */
  filling?: Filling;
  /** Writes a whole group or nothing. Returns the results in the order of the items. */
  write: (items: readonly Ready[]) => Promise<Result[]>;
  /** Tells whether an error of `write` concerns every item alike, so that writing fewer of them is pointless. */
  isOutage: (error: unknown) => boolean;
}

interface Waiter<Item, Result> {
  item: Item;
  signal: AbortSignal | undefined;
  /** Detaches the waiter from its signal. */
  begin(): void;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** A waiter with a prepared item. */
interface Member<Item, Ready, Result> {
  waiter: Waiter<Item, Result>;
  ready: Ready;
}

/**
 * Writes many small items in few commits. Items that arrive while groups are being written form the next group. Unless the
 * rules say otherwise, no item waits for a group to fill. Organizations take turns, and workspaces within them. A group that
 * cannot be written is split in halves, so that one bad item does not fail the others.
 */
export class GroupCommit<Item, Ready, Result> {
  private readonly waiting = new FairQueue<Waiter<Item, Result>>();
  private writing = 0;
  /** Ends the wait for more items. */
  private endFilling: (() => void) | undefined;

  constructor(private readonly rules: GroupRules<Item, Ready, Result>) {}

  /**
   * Writes an item, and returns its result once it is committed.
   *
   * @throws the signal's reason, if it is aborted before the item is prepared; else the error of preparing or writing
   */
  add(owner: OwnerPath, item: Item, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    return new Promise<Result>((resolve, reject) => {
      const waiter: Waiter<Item, Result> = {
        item,
        signal,
        begin: () => signal?.removeEventListener('abort', leave),
        resolve,
        reject,
      };
      const leave = (): void => {
        this.waiting.remove(owner, waiter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.waiting.push(owner, waiter);
      if (this.rules.filling?.isFull(this.waiting.size)) this.endFilling?.();
      if (this.writing < this.rules.limiter.concurrency)
        void runAs(this.rules.owner, () => this.writeGroups());
    });
  }

  /** Writes groups until no item waits. Items that arrive before the limiter grants a slot join the group. */
  private async writeGroups(): Promise<void> {
    this.writing++;
    while (this.waiting.size > 0) {
      const { limiter, owner, filling } = this.rules;
      if (filling && !filling.isFull(this.waiting.size)) await this.fill(filling.maxMs);
      await limiter.run(owner, undefined, async () => this.writeGroup(await this.nextGroup()));
    }
    this.writing--;
  }

  /** Waits until enough items wait, but no longer than `maxMs`. */
  private async fill(maxMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, maxMs);
      this.endFilling = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.endFilling = undefined;
  }

  /** Forms a group of the items that wait now. Yields to the event loop between items, because preparing takes time. */
  private async nextGroup(): Promise<Member<Item, Ready, Result>[]> {
    const { maxWeight, weightOf, prepare } = this.rules;
    const group: Member<Item, Ready, Result>[] = [];
    let weight = 0;
    for (let left = this.waiting.size; left > 0 && weight < maxWeight; left--) {
      const waiter = this.waiting.shift();
      if (!waiter) break;
      waiter.begin();
      try {
        const ready = await prepare(waiter.item);
        weight += weightOf(ready);
        group.push({ waiter, ready });
      } catch (error) {
        waiter.reject(error);
      }
      await yieldToEventLoop();
    }
    return group;
  }

  private async writeGroup(group: readonly Member<Item, Ready, Result>[]): Promise<void> {
    if (group.length === 0) return; // all items joined another group, or none could be prepared
    try {
      const results = await this.rules.write(group.map(({ ready }) => ready));
      for (const [index, { waiter }] of group.entries()) waiter.resolve(results[index]!);
    } catch (error) {
      if (group.length === 1 || this.rules.isOutage(error))
        for (const { waiter } of group) waiter.reject(error);
      else await this.writeHalves(group);
    }
  }

  /** Writes each half as a group, without items whose signal is aborted. */
  private async writeHalves(group: readonly Member<Item, Ready, Result>[]): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      for (const { waiter } of half) if (waiter.signal?.aborted) waiter.reject(waiter.signal.reason);
      await this.writeGroup(half.filter(({ waiter }) => !waiter.signal?.aborted));
    }
  }
}
