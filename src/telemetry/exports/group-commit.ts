import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue, type Owners } from '#platform/turns';
import type { GroupSlots } from './group-slots';

export interface GroupRules<Item, Ready, Result> {
  /** Those that groups are written in; others may share them. */
  slots: GroupSlots;
  /** Makes an item ready to be written, as its group is put together. Where that throws, the item is left out. */
  prepare: (item: Item) => Ready;
  /** A group is closed when its items weigh this much together; an item may weigh more by itself. */
  maxWeight: number;
  weightOf: (ready: Ready) => number;
  /** Writes all of a group, or none. Answers in the order of the items. */
  write: (items: readonly Ready[]) => Promise<Result[]>;
  /** Whether what `write` threw would have come of any of the items, so that it is no use to try fewer of them. */
  isOutage: (error: unknown) => boolean;
}

interface Waiter<Item, Result> {
  item: Item;
  signal: AbortSignal;
  /** Stops heeding the signal. */
  begin(): void;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** A waiter whose item is ready to be written. */
interface Member<Item, Ready, Result> {
  waiter: Waiter<Item, Result>;
  ready: Ready;
}

/**
 * Writes many small items by few commits: while groups are being written, what comes waits, and goes with the next.
 * Nobody waits for a group to fill. Organizations take turns, and workspaces within them. A group that cannot be written
 * is written by halves, so that one that cannot be stored does not sink those it happened to be put together with.
 */
export class GroupCommit<Item, Ready, Result> {
  private readonly waiting = new FairQueue<Waiter<Item, Result>>();
  private underWay = 0;

  constructor(private readonly rules: GroupRules<Item, Ready, Result>) {}

  /**
   * Writes an item. @returns what comes of it, once it is committed.
   *
   * @throws the signal's reason, at once, when it is aborted before the item is made ready; else what that or the writing
   *   threw
   */
  add(owners: Owners, item: Item, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    return new Promise<Result>((resolve, reject) => {
      const waiter: Waiter<Item, Result> = {
        item,
        signal,
        begin: () => signal.removeEventListener('abort', leave),
        resolve,
        reject,
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
    while (this.waiting.size > 0)
      await this.rules.slots.use(async () => this.writeGroup(await this.nextGroup()));
    this.underWay--;
  }

  /** Of those who wait by now: what comes meanwhile goes with the next. Others are attended to between two items. */
  private async nextGroup(): Promise<Member<Item, Ready, Result>[]> {
    const { maxWeight, weightOf, prepare } = this.rules;
    const group: Member<Item, Ready, Result>[] = [];
    let weight = 0;
    for (let left = this.waiting.size; left > 0 && weight < maxWeight; left--) {
      const waiter = this.waiting.shift();
      if (!waiter) break;
      waiter.begin();
      try {
        const ready = prepare(waiter.item);
        weight += weightOf(ready);
        group.push({ waiter, ready });
      } catch (error) {
        waiter.reject(error);
      }
      await nextTurn();
    }
    return group;
  }

  private async writeGroup(group: readonly Member<Item, Ready, Result>[]): Promise<void> {
    if (group.length === 0) return; // went with another, or nothing of it could be made ready
    try {
      const results = await this.rules.write(group.map(({ ready }) => ready));
      for (const [index, { waiter }] of group.entries()) waiter.resolve(results[index]!);
    } catch (error) {
      if (group.length === 1 || this.rules.isOutage(error))
        for (const { waiter } of group) waiter.reject(error);
      else await this.writeHalves(group);
    }
  }

  /** Without those that nobody waits for any more. */
  private async writeHalves(group: readonly Member<Item, Ready, Result>[]): Promise<void> {
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      for (const { waiter } of half) if (waiter.signal.aborted) waiter.reject(waiter.signal.reason);
      await this.writeGroup(half.filter(({ waiter }) => !waiter.signal.aborted));
    }
  }
}
