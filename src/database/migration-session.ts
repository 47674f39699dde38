import type { Client, DatabaseError } from 'pg';
import { WatchedClient } from '#platform/db';
import { retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { describeWaits, type LockWait, readLockWaits } from './lock-waits.repository';
import type { Locks } from './migrations/migration';

/**
 * Longest wait of a statement for a lock, in ms. Requests that arrive meanwhile wait behind it. It exceeds PostgreSQL's default
 * `deadlock_timeout` of 1 s, after which a waiting statement cancels an autovacuum.
 */
const LOCK_TIMEOUT_MS = 2_000;

/** Time after which a waiting statement asks whom it waits for, in ms. */
const LOOK_MS = 500;

/** Interval at which a long wait is logged, in ms. */
const REPORT_MS = 30_000;

/** SQLSTATEs: a lock was not available in time, and a deadlock. */
const LOCK_FAILURES = new Set(['55P03', '40P01']);

export const isLockFailure = (error: unknown): boolean =>
  LOCK_FAILURES.has((error as DatabaseError).code ?? '');

export interface LockRetry {
  /** Attempts to get the locks of a step. */
  attempts: number;
  /** Longest pause between two attempts, in ms. */
  maxDelayMs: number;
}

/** About three minutes. */
const LOCK_RETRY: LockRetry = { attempts: 40, maxDelayMs: 5_000 };

/** The connection that migrates. Another one finds out whom it waits for. */
export class MigrationSession {
  constructor(
    readonly client: Client,
    private readonly databaseUrl: string,
    private readonly lockRetry: LockRetry = LOCK_RETRY,
  ) {}

  /** Runs `work` in one transaction: commits when it resolves, rolls back when it throws. */
  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.client.query('BEGIN');
    try {
      const result = await work();
      await this.client.query('COMMIT');
      return result;
    } catch (error) {
      await this.client.query('ROLLBACK').catch(() => undefined); // the connection is lost
      throw error;
    }
  }

  /**
   * Runs `work` in one transaction that first takes these locks. It waits for a lock for 2 s at most, so that the requests
   * behind it continue soon, and then tries again after a pause. Taking the strongest lock of each table first avoids the
   * deadlock of two transactions that both need a stronger one.
   *
   * @param step name of the step, for messages
   * @throws StartError that names the table and whom the step waits for, if no attempt succeeds
   */
  locked<Result>(step: string, locks: Locks, work: () => Promise<Result>): Promise<Result> {
    return this.repeat(step, locks, () =>
      this.transaction(async () => {
        for (const [table, mode] of Object.entries(locks)) {
          await this.client.query(`LOCK TABLE ${table} IN ${mode} MODE`);
        }
        return await work();
      }),
    );
  }

  /** Runs work that begins its own transaction. It too waits for a lock for 2 s at most, and is then repeated. */
  retried(step: string, work: () => Promise<void>): Promise<void> {
    return this.repeat(step, {}, work);
  }

  private async repeat<Result>(step: string, locks: Locks, work: () => Promise<Result>): Promise<Result> {
    let waits: LockWait[] = [];
    let reportedAt = -Infinity;
    const attempt = async () => {
      const look = setTimeout(() => void this.waits().then((found) => (waits = found)), LOOK_MS);
      try {
        await this.client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
        return await work();
      } catch (error) {
        if (isLockFailure(error) && performance.now() - reportedAt > REPORT_MS) {
          reportedAt = performance.now();
          rootLogger.warn({ step, waits }, 'a migration waits for a lock');
        }
        throw error;
      } finally {
        clearTimeout(look);
      }
    };
    try {
      return await retry(attempt, { ...this.lockRetry, isRetryable: isLockFailure });
    } catch (error) {
      if (!isLockFailure(error)) throw error;
      const needed = Object.entries(locks).map(([table, mode]) => `${mode} on ${table}`);
      const named = needed.length > 0 ? `its lock (${needed.join(', ')})` : 'a lock';
      throw new StartError(
        `The migration step ${step} did not get ${named} in ${this.lockRetry.attempts} attempts, because it waits for ${describeWaits(waits)}. End that process or wait for it, then run the migration again, which continues with this step.`,
        { cause: error },
      );
    }
  }

  /** Runs a statement that waits for other transactions without blocking any. Logs every 30 s whom it waits for. */
  async patiently(step: string, statement: string): Promise<void> {
    const report = setInterval(
      () =>
        void this.waits().then((waits) =>
          rootLogger.info({ step, waits, statement }, 'a migration is building an index'),
        ),
      REPORT_MS,
    );
    try {
      await this.client.query('SET lock_timeout = 0; SET statement_timeout = 0');
      await this.client.query(statement);
    } finally {
      clearInterval(report);
    }
  }

  /** Returns whom the session waits for; nobody if that cannot be read, because it only serves messages. */
  private async waits(): Promise<LockWait[]> {
    const watcher = new WatchedClient({ connectionString: this.databaseUrl });
    try {
      await watcher.connect();
      return await readLockWaits(watcher, (this.client as unknown as { processID: number }).processID);
    } catch {
      return [];
    } finally {
      await watcher.end();
    }
  }
}
