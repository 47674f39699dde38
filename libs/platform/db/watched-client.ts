import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';

type Listener = (...args: never[]) => void;
type ErrorListener = (error: Error) => void;

/** How long after its `statement_timeout` a server may stay silent, in milliseconds. */
const AFTER_TIMEOUT_MS = 500;

/** Members of `pg.Client` that its types do not declare. */
interface Internals {
  connection: { stream: Socket };
  readyForQuery: boolean;
}

/**
 * A connection whose loss is always reported. It also counts as lost when the server stays silent for longer than its
 * `statement_timeout` while a statement runs, for example because the server is stopped or cut off.
 *
 * If a plain `pg.Client` is lost while it has no error listener, the process
 * ends, and a listener that is added later is never called. Both happen when a server shuts down and ends a new
 * connection: the client then becomes ready and is lost within one packet.
 */
export class WatchedClient extends Client {
  private loss: Error | undefined;
  private readonly recordLoss: ErrorListener = (error) => (this.loss ??= error);

  /** Whether a statement runs without a timeout. */
  mayBeSilent = false;

  constructor(config?: string | ClientConfig) {
    super(config);
    super.on('error', this.recordLoss);
    const limit = typeof config === 'object' && Number(config.statement_timeout);
    if (limit) super.once('connect', () => this.closeIfSilent(limit + AFTER_TIMEOUT_MS));
  }

  /** Closes the connection when a statement gets no answer for this long, in milliseconds. */
  private closeIfSilent(limit: number): void {
    const client = this as unknown as Internals;
    const { stream } = client.connection;
    stream.setTimeout(limit, () => {
      if (client.readyForQuery || this.mayBeSilent) return;
      const error = new Error('PostgreSQL did not respond in time.');
      stream.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
    });
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
