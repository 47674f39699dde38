import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { checkCurrentWork, currentOwner, FairLimiter, HEALTH, UNAUTHENTICATED } from '#platform/concurrency';

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: Error | boolean) => void,
) => void;

/**
 * A pool whose connections are shared between organizations, so that the statements and locks of one organization cannot
 * block the others. Of ten connections, two are reserved for authentication and health checks, and one organization gets
 * at most six of the other eight. Jobs and reconciles count for their organization. Other background work counts as one
 * organization.
 */
export class FairPool extends Pool {
  private readonly limiter: FairLimiter;
  /** For authentication and health checks. */
  private readonly reserved: FairLimiter;

  constructor(config: PoolConfig) {
    super(config);
    const size = config.max ?? 10;
    const reserved = size < 8 ? 1 : 2;
    const concurrency = size - reserved;
    const share = Math.max(1, Math.min(concurrency - 1, Math.ceil((concurrency * 3) / 4)));
    const maxWaitMs = config.connectionTimeoutMillis;
    this.limiter = new FairLimiter({ concurrency, share, maxWaitMs });
    this.reserved = new FairLimiter({ concurrency: reserved, maxWaitMs });
  }

  /** Open connections that are in use. */
  get inUseCount(): number {
    return this.totalCount - this.idleCount;
  }

  /** Pieces of work that wait for a connection, or for the share of their organization. */
  get allWaitingCount(): number {
    return this.limiter.waitingCount + this.reserved.waitingCount + this.waitingCount;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    if (callback) return this.connectFor(currentOwner(), callback);
    return new Promise((resolve, reject) => {
      this.connectFor(currentOwner(), (error, client) => (client ? resolve(client) : reject(error as Error)));
    });
  }

  /** @param owner undefined for work that already holds a connection */
  private connectFor(owner: string | undefined, callback: ConnectCallback): void {
    if (owner === undefined) return super.connect(callback);
    const limiter = owner === UNAUTHENTICATED || owner === HEALTH ? this.reserved : this.limiter;
    const fail = (error: unknown): void => callback(error as Error, undefined, () => undefined);
    const leave = limiter.tryEnter(owner);
    if (leave) return this.hold(leave, callback, fail);
    limiter
      .run(owner, undefined, () => new Promise<void>((ended) => this.hold(ended, callback, fail)))
      .catch(fail);
  }

  /** Connects, and calls `leave` when the connection is released or cannot be opened. */
  private hold(leave: () => void, callback: ConnectCallback, fail: (error: unknown) => void): void {
    try {
      checkCurrentWork();
    } catch (error) {
      leave();
      return fail(error);
    }
    super.connect((error, client) => {
      if (!client) {
        leave();
        return fail(error);
      }
      const release = client.release.bind(client);
      client.release = (broken) => {
        release(broken);
        leave();
      };
      callback(undefined, client, (broken) => client.release(broken));
    });
  }
}
