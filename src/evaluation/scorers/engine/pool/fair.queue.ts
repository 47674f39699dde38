/** A queue in which those who wait take turns: one who puts in a thousand items holds up another by one at a time. */
export class FairQueue<T> {
  private readonly waiting = new Map<string, T[]>();

  /** Puts an item at the end of what `owner` waits for. */
  push(owner: string, item: T): void {
    const items = this.waiting.get(owner);
    if (items) items.push(item);
    else this.waiting.set(owner, [item]);
  }

  /** Takes the oldest item of the owner whose turn it is; undefined where nothing waits. */
  shift(): T | undefined {
    for (const [owner, items] of this.waiting) {
      const item = items.shift();
      this.waiting.delete(owner);
      if (items.length > 0) this.waiting.set(owner, items);
      return item;
    }
    return undefined;
  }

  /** Takes an item out of its turn; does nothing where it is not waiting. */
  remove(owner: string, item: T): void {
    const items = this.waiting.get(owner)?.filter((other) => other !== item);
    if (!items) return;
    if (items.length > 0) this.waiting.set(owner, items);
    else this.waiting.delete(owner);
  }

  /**
   * Takes the newest item of the owner who has the most, for `owner` to have its place; undefined where nobody has at
   * least two more than `owner`, who would then have as many.
   */
  shed(owner: string): T | undefined {
    let most: T[] = [];
    for (const items of this.waiting.values()) if (items.length > most.length) most = items;
    const own = this.waiting.get(owner)?.length ?? 0;
    return most.length >= own + 2 ? most.pop() : undefined;
  }

  /** Takes all items. */
  drain(): T[] {
    const items = [...this.waiting.values()].flat();
    this.waiting.clear();
    return items;
  }
}
