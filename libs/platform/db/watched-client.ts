import { Client, type ClientConfig } from 'pg';

type Listener = (...args: never[]) => void;
type ErrorListener = (error: Error) => void;

/**
 * A connection whose loss is always reported. A plain `pg.Client` that is lost without an error listener ends the
 * process, and a later listener never hears of the loss. Both happen when a server shuts down and ends a new connection:
 * the client then becomes ready and lost within one packet.
 */
export class WatchedClient extends Client {
  private lost: Error | undefined;
  private readonly lose: ErrorListener = (error) => (this.lost ??= error);

  constructor(config?: string | ClientConfig) {
    super(config);
    super.on('error', this.lose);
  }

  /** Adds a listener. An error listener that comes too late receives the first error. */
  override on(event: string, listener: Listener): this {
    super.on(event as 'error', listener as ErrorListener);
    // reports the loss before any statement of the caller fails
    if (event === 'error' && this.lost) process.nextTick(listener as ErrorListener, this.lost);
    return this;
  }

  /** Removes all listeners but its own, because a connection may be lost while it ends. */
  override removeAllListeners(event?: string): this {
    super.removeAllListeners(event);
    if (!this.listeners('error').includes(this.lose)) super.on('error', this.lose);
    return this;
  }
}
