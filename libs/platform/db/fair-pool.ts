import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { checkCurrentWork, currentOwner, FairLimiter, HEALTH, UNAUTHENTICATED } from '#platform/concurrency';

type ConnectCallback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: Error | boolean) => void,
) => void;

/**
 * A pool whose connections are shared between organizations, so that nobody waits for the statements and locks of one
 * organization alone. Of ten connections, two are reserved for authentication and health checks, and one organization
 * gets six of the other eight. Jobs and reconciles count for their organization, and other background work counts as one.
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

  override connect(): Promise<PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<PoolClient> | void {
    const owner = currentOwner();
    const connecting = owner === undefined ? super.connect() : this.connectFor(owner);
    if (!callback) return connecting;
    connecting.then(
      (client) => callback(undefined, client, (release) => client.release(release)),
      (error: unknown) => callback(error as Error, undefined, () => undefined),
    );
  }

  private connectFor(owner: string): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      const hold = async (): Promise<void> => {
        checkCurrentWork();
        const client = await super.connect();
        const release = client.release.bind(client);
        await new Promise<void>((end) => {
          client.release = (error) => {
            release(error);
            end();
          };
          resolve(client);
        });
      };
      const limiter = owner === UNAUTHENTICATED || owner === HEALTH ? this.reserved : this.limiter;
      limiter.run(owner, undefined, hold).catch(reject);
    });
  }
}
