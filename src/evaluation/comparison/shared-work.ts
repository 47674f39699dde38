/**
 * Has those who want the same at once have it worked out once. It is worked out for the first of them; where that fails,
 * perhaps because nobody waits for its answer any more, for the next.
 */
export class SharedWork<Result> {
  private readonly underWay = new Map<string, Promise<Result>>();

  async get(key: string, work: () => Promise<Result>): Promise<Result> {
    for (let others = this.underWay.get(key); others; others = this.underWay.get(key)) {
      const found = await others.then(
        (result) => ({ result }),
        () => null,
      );
      if (found) return found.result;
    }
    const own = work();
    this.underWay.set(key, own);
    try {
      return await own;
    } finally {
      this.underWay.delete(key);
    }
  }
}
