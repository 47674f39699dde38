interface Work<Result> {
  result: Promise<Result>;
  /** Ends it when nobody waits for it any more. */
  ending: AbortController;
  waiting: number;
}

/**
 * Has those who want the same at once have it worked out once. It goes on as long as one of them waits for it, whoever
 * asked first; each leaves it by its own signal.
 */
export class SharedWork<Result> {
  private readonly underWay = new Map<string, Work<Result>>();

  /**
   * What `work` answers, or throws, for all who wait for it under this key.
   *
   * @param signal of who asks
   * @param work is given a signal that is aborted when all who wait are gone
   * @throws the signal's reason, at once, when it is aborted
   */
  async get(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const shared = this.underWay.get(key) ?? this.begin(key, work);
    shared.waiting++;
    try {
      return await unlessAborted(shared.result, signal);
    } finally {
      if (--shared.waiting === 0) {
        this.end(key, shared);
        shared.ending.abort(signal.reason);
      }
    }
  }

  private begin(key: string, work: (signal: AbortSignal) => Promise<Result>): Work<Result> {
    const ending = new AbortController();
    const shared = { result: work(ending.signal), ending, waiting: 0 };
    this.underWay.set(key, shared);
    const end = (): void => this.end(key, shared);
    // also where it fails and nobody is there to be told
    shared.result.then(end, end);
    return shared;
  }

  /** From now on it is begun anew. */
  private end(key: string, shared: Work<Result>): void {
    if (this.underWay.get(key) === shared) this.underWay.delete(key);
  }
}

function unlessAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    const stay = (): void => signal.removeEventListener('abort', leave);
    signal.addEventListener('abort', leave, { once: true });
    result.then(resolve, reject).finally(stay);
  });
}
