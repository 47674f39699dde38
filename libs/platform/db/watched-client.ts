import { Client, type ClientConfig } from 'pg';

type Listener = (...args: never[]) => void;
type ErrorListener = (error: Error) => void;

/**
 * A connection whose loss never goes unheard. A plain `pg.Client` that is lost while nobody listens for its errors
 * ends the process, and one that is lost before somebody listens never tells him. Both happen when a server that shuts
 * down ends a connection the moment it is made: then the client becomes ready and lost with one packet.
 */
export class WatchedClient extends Client {
  private lost: Error | undefined;
  private readonly lose: ErrorListener = (error) => (this.lost ??= error);

  constructor(config?: string | ClientConfig) {
    super(config);
    super.on('error', this.lose);
  }

  /** As an `EventEmitter` does; who listens for errors too late hears of the first. */
  override on(event: string, listener: Listener): this {
    super.on(event as 'error', listener as ErrorListener);
    // before anything that the caller orders on this connection can fail
    if (event === 'error' && this.lost) process.nextTick(listener as ErrorListener, this.lost);
    return this;
  }

  /** All but its own: whoever lets go of a connection may still lose it while it ends. */
  override removeAllListeners(event?: string): this {
    super.removeAllListeners(event);
    if (!this.listeners('error').includes(this.lose)) super.on('error', this.lose);
    return this;
  }
}
