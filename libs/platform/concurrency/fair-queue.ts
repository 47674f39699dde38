/** An owner, from the largest unit to the smallest: an organization and its workspace, or a single name. */
export type OwnerPath = readonly string[];

/**
 * A queue whose owners take turns: an owner with a thousand items delays the others by one item at a time. The parts of
 * an owner take turns too, so that a busy workspace delays neither its organization's other workspaces nor anybody else.
 */
export class FairQueue<T> {
  /** Items of the owner itself, oldest first. Items are distinct. */
  private readonly own = new Set<T>();
  private readonly parts = new Map<string, FairQueue<T>>();
  private count = 0;

  /** Number of items in the queue. */
  get size(): number {
    return this.count;
  }

  /** Appends an item to its owner's items. */
  push([first, ...rest]: OwnerPath, item: T): void {
    this.count++;
    if (first === undefined) {
      this.own.add(item);
      return;
    }
    let part = this.parts.get(first);
    if (!part) this.parts.set(first, (part = new FairQueue()));
    part.push(rest, item);
  }

  /**
   * Removes and returns the oldest item of the owner whose turn it is, or undefined if the queue is empty.
   *
   * @param isAllowed owners for which it returns false are skipped
   */
  shift(isAllowed?: (owner: string) => boolean): T | undefined {
    if (this.own.size > 0) {
      this.count--;
      return this.take(this.own.values().next().value!);
    }
    for (const [name, part] of this.parts) {
      if (isAllowed && !isAllowed(name)) continue;
      this.count--;
      const item = part.shift();
      // the owner goes to the end of the line
      this.parts.delete(name);
      if (part.size > 0) this.parts.set(name, part);
      return item;
    }
    return undefined;
  }

  /** Removes an item wherever it is in the queue. Does nothing if the item is not queued. */
  remove([first, ...rest]: OwnerPath, item: T): void {
    if (first === undefined) {
      if (this.own.delete(item)) this.count--;
      return;
    }
    const part = this.parts.get(first);
    if (!part) return;
    this.count -= part.size;
    part.remove(rest, item);
    this.count += part.size;
    if (part.size === 0) this.parts.delete(first);
  }

  /**
   * Removes and returns the newest item of the owner with the most items, to make space for an item of the given owner.
   * Returns undefined unless the former has at least two more items, so that the given owner never ends up with the most.
   */
  shed([first]: OwnerPath): T | undefined {
    const own = (first === undefined ? undefined : this.parts.get(first)?.size) ?? 0;
    const most = this.largest();
    return most && most[1].size >= own + 2 ? this.pop() : undefined;
  }

  private take(item: T): T {
    this.own.delete(item);
    return item;
  }

  /** Removes and returns the newest item of the owner with the most items. */
  private pop(): T | undefined {
    const largest = this.largest();
    this.count--;
    if (!largest) return this.take([...this.own].at(-1)!);
    const [name, part] = largest;
    const item = part.pop();
    if (part.size === 0) this.parts.delete(name);
    return item;
  }

  /** Returns the owner with the most items; of several, the one that joined last. */
  private largest(): [string, FairQueue<T>] | undefined {
    let most: [string, FairQueue<T>] | undefined;
    for (const one of this.parts) if (!most || one[1].size >= most[1].size) most = one;
    return most;
  }
}
