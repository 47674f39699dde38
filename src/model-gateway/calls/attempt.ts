/** One request to a provider, which ends when its call ends or its time is over. */
export class Attempt {
  private stopped: Error | undefined;
  private readonly listeners: ((reason: Error) => void)[] = [];

  /** Ends the request. Only the first reason counts. */
  stop(reason: Error): void {
    if (this.stopped) return;
    this.stopped = reason;
    for (const listener of this.listeners) listener(reason);
  }

  /** Calls a function when the request ends, or at once if it has ended. It costs less than a signal. */
  onStop(listener: (reason: Error) => void): void {
    if (this.stopped) listener(this.stopped);
    else this.listeners.push(listener);
  }

  /** Returns a signal that is aborted when the request ends. */
  signal(): AbortSignal {
    const controller = new AbortController();
    this.onStop((reason) => controller.abort(reason));
    return controller.signal;
  }
}
