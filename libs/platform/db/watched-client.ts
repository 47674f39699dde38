import { Client, type ClientConfig } from 'pg';

type Listener = (...args: never[]) => void;
type ErrorListener = (error: Error) => void;

/**
 * A connection whose loss is always reported. If a plain `pg.Client` is lost while it has no error listener, the process
 * ends, and a listener that is added later is never called. Both happen when a server shuts down and ends a new
 * connection: the client then becomes ready and is lost within one packet.
 */
export class WatchedClient extends Client {
  private loss: Error | undefined;
  private readonly recordLoss: ErrorListener = (error) => (this.loss ??= error);

  constructor(config?: string | ClientConfig) {
    super(config);
    super.on('error', this.recordLoss);
  }

  /** Adds a listener. An error listener that comes too late receives the first error. */
  override on(event: string, listener: Listener): this {
    super.on(event as 'error', listener as ErrorListener);
    // reports the loss before any statement of the caller fails
    if (event === 'error' && this.loss) process.nextTick(listener as ErrorListener, this.loss);
    return this;
  }

  /** Removes all listeners but its own, because a connection may be lost while it ends. */
  override removeAllListeners(event?: string): this {
    super.removeAllListeners(event);
    if (!this.listeners('error').includes(this.recordLoss)) super.on('error', this.recordLoss);
    return this;
  }
}
