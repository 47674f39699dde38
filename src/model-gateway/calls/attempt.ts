/** One request to a provider, which ends when its call is aborted or its time is over. */
export class Attempt {
  /** Whether the provider may have received the request. */
  isSent = false;
  private stopped: Error | undefined;
  private readonly listeners: ((reason: Error) => void)[] = [];
  private readonly onAbort = (): void => this.stop(this.call.reason as Error);

  /** @param call the signal of the call. It refers to the attempt until `release`. */
  constructor(private readonly call: AbortSignal) {
    if (call.aborted) this.onAbort();
    else call.addEventListener('abort', this.onAbort);
  }

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

  /** Frees what the attempt holds, once its answer is complete or has failed. */
  release(): void {
    this.call.removeEventListener('abort', this.onAbort);
  }
}
