/** One request to a provider. It stops when its call is aborted or its time is up. */
export class Attempt {
  /** Whether the provider may have received the request. */
  isSent = false;
  private stopReason: Error | undefined;
  private readonly listeners: ((reason: Error) => void)[] = [];
  private readonly onAbort = (): void => this.stop(this.call.reason as Error);

  /** @param call the signal of the call. It holds a reference to the attempt until `release`. */
  constructor(private readonly call: AbortSignal) {
    if (call.aborted) this.onAbort();
    else call.addEventListener('abort', this.onAbort);
  }

  /** Stops the request. Only the first reason counts. */
  stop(reason: Error): void {
    if (this.stopReason) return;
    this.stopReason = reason;
    for (const listener of this.listeners) listener(reason);
  }

  /** Calls a function when the request stops, or at once if it has stopped. This costs less than a signal. */
  onStop(listener: (reason: Error) => void): void {
    if (this.stopReason) listener(this.stopReason);
    else this.listeners.push(listener);
  }

  /** Returns a signal that is aborted when the request stops. */
  signal(): AbortSignal {
    const controller = new AbortController();
    this.onStop((reason) => controller.abort(reason));
    return controller.signal;
  }

  /** Removes the listener on the call's signal. Call it once the answer is complete or has failed. */
  release(): void {
    this.call.removeEventListener('abort', this.onAbort);
  }
}
