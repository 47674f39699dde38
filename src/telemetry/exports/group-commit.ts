import { FairQueue, type Owners } from '#platform/turns';
import type { GroupSlots } from './group-slots';

export interface GroupRules<Item, Result> {
  /** Those that groups are written in; others may share them. */
  slots: GroupSlots;
  /** A group is closed when its items weigh this much together; an item may weigh more by itself. */
  maxWeight: number;
  weightOf: (item: Item) => number;
  /**
   * Writes all of a group, or none. Answers in the order of the items; where an item is itself at fault, the others are
   * written and it alone is answered as rejected.
   */
  write: (items: readonly Item[]) => Promise<PromiseSettledResult<Result>[]>;
  /** Whether what `write` threw would have come of any of the items, so that it is no use to try them one by one. */
  isOutage: (error: unknown) => boolean;
}

interface Waiter<Item, Result> {
  item: Item;
  /** Stops heeding the signal. */
  begin(): void;
  settle(result: PromiseSettledResult<Result>): void;
}

/**
 * Writes many small items by few commits: while groups are being written, what comes waits, and goes with the next.
 * Nobody waits for a group to fill. Organizations take turns, and workspaces within them. Where a group cannot be written
 * its items are, each alone, so that one that cannot be stored does not sink those it happened to be put together with.
 */
export class GroupCommit<Item, Result> {
  private readonly waiting = new FairQueue<Waiter<Item, Result>>();
  private underWay = 0;

  constructor(private readonly rules: GroupRules<Item, Result>) {}

  /**
   * Writes an item. @returns what comes of it, once it is committed.
   *
   * @throws the signal's reason, at once, when it is aborted before the writing begins; else what the writing threw
   */
  add(owners: Owners, item: Item, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    return new Promise<Result>((resolve, reject) => {
      const waiter: Waiter<Item, Result> = {
        item,
        begin: () => signal.removeEventListener('abort', leave),
        settle: (result) => {
          if (result.status === 'fulfilled') resolve(result.value);
          else reject(result.reason as Error);
        },
      };
      const leave = (): void => {
        this.waiting.remove(owners, waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(owners, waiter);
      if (this.underWay < this.rules.slots.count) void this.writeGroups();
    });
  }

  /** Until nothing waits. */
  private async writeGroups(): Promise<void> {
    this.underWay++;
    // what comes until there is a slot goes with the group
    while (this.waiting.size > 0) await this.rules.slots.use(() => this.writeGroup(this.nextGroup()));
    this.underWay--;
  }

  private nextGroup(): Waiter<Item, Result>[] {
    const { maxWeight, weightOf } = this.rules;
    const group: Waiter<Item, Result>[] = [];
    for (let weight = 0; weight < maxWeight;) {
      const waiter = this.waiting.shift();
      if (!waiter) break;
      waiter.begin();
      group.push(waiter);
      weight += weightOf(waiter.item);
    }
    return group;
  }

  private async writeGroup(group: readonly Waiter<Item, Result>[]): Promise<void> {
    if (group.length === 0) return; // went with another
    try {
      const results = await this.rules.write(group.map(({ item }) => item));
      for (const [index, waiter] of group.entries()) waiter.settle(results[index]!);
    } catch (reason) {
      if (group.length > 1 && !this.rules.isOutage(reason))
        for (const one of group) await this.writeGroup([one]);
      else for (const waiter of group) waiter.settle({ status: 'rejected', reason });
    }
  }
}
