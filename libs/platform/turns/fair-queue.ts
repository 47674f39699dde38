/** Who waits, from the whole to the part: an organization and its workspace, or one name alone. */
export type Owners = readonly string[];

/**
 * A queue in which those who wait take turns: one who puts in a thousand items holds up another by one at a time. Within
 * an owner its parts do: a workspace is held up neither by others of its organization, nor served more often than others
 * because its organization has many.
 */
export class FairQueue<T> {
  /** What waits for the owner itself, in its order; each item is another. */
  private readonly own = new Set<T>();
  private readonly parts = new Map<string, FairQueue<T>>();
  private count = 0;

  /** How many items wait. */
  get size(): number {
    return this.count;
  }

  /** Puts an item at the end of what an owner waits for. */
  push([first, ...rest]: Owners, item: T): void {
    this.count++;
    if (first === undefined) {
      this.own.add(item);
      return;
    }
    let part = this.parts.get(first);
    if (!part) this.parts.set(first, (part = new FairQueue()));
    part.push(rest, item);
  }

  /** Takes the oldest item of the owner whose turn it is; undefined where nothing waits. */
  shift(): T | undefined {
    if (this.count === 0) return undefined;
    this.count--;
    if (this.own.size > 0) return this.take(this.own.values().next().value!);
    const [name, part] = this.parts.entries().next().value!;
    const item = part.shift();
    // its next turn comes after those of all others
    this.parts.delete(name);
    if (part.size > 0) this.parts.set(name, part);
    return item;
  }

  /** Takes an item out of its turn; does nothing where it is not waiting. */
  remove([first, ...rest]: Owners, item: T): void {
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
   * Takes the newest item of who has the most, for an owner to have its place; undefined where nobody has at least two
   * more than the owner, who would then have as many.
   */
  shed([first]: Owners): T | undefined {
    const own = (first === undefined ? undefined : this.parts.get(first)?.size) ?? 0;
    const most = this.largest();
    return most && most[1].size >= own + 2 ? this.pop() : undefined;
  }

  /** Takes all items. */
  drain(): T[] {
    const items = [...this.own, ...[...this.parts.values()].flatMap((part) => part.drain())];
    this.own.clear();
    this.parts.clear();
    this.count = 0;
    return items;
  }

  private take(item: T): T {
    this.own.delete(item);
    return item;
  }

  /** Takes the newest item of who has the most. */
  private pop(): T | undefined {
    const largest = this.largest();
    this.count--;
    if (!largest) return this.take([...this.own].at(-1)!);
    const [name, part] = largest;
    const item = part.pop();
    if (part.size === 0) this.parts.delete(name);
    return item;
  }

  /** Of several, the one that came last. */
  private largest(): [string, FairQueue<T>] | undefined {
    let most: [string, FairQueue<T>] | undefined;
    for (const one of this.parts) if (!most || one[1].size >= most[1].size) most = one;
    return most;
  }
}
