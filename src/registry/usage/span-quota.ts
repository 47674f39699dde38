import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Batcher, FairLimiter, LoadingCache } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { problem } from '#platform/problem';
import { type SpanCount, SpanUsageRepository } from './span-usage.repository';

/** How long counts wait to be written, and how old the counts of other processes may be, in milliseconds. */
const COUNTING_MS = 1_000;
const DAY_MS = 86_400_000;
const OWNER = 'span usage';

/**
 * Limits the spans that an organization sends on one day (`TELEMETRY_QUOTA_SPANS_PER_DAY`). Without the quota, nothing is
 * counted, and no statement runs. With it, each process writes its counts once per second, and reads those of the others at
 * most once per second. So organizations may exceed the quota by what the other processes store within about two seconds.
 */
@Injectable()
export class SpanQuota implements BeforeApplicationShutdown {
  readonly quota: number | null;
  private readonly reads = new LoadingCache<number>({ lifetimeMs: COUNTING_MS, max: 10_000 });
  /** The day of `written`. */
  private day = '';
  /** The spans in the database as last known, which only increase on a day, by `keyOf`. */
  private readonly written = new Map<string, number>();
  /** Spans that this process has stored, and not yet counted in the database, by `keyOf`. */
  private readonly unwritten = new Map<string, number>();
  /** Spans of exports that this process is storing, by organization. */
  private readonly reserved = new Map<string, number>();
  private readonly writes = new Set<Promise<void>>();
  private readonly counts = new Batcher<SpanCount, void>({
    run: (counts) => this.write(counts),
    max: 10_000,
    shared: {
      limiter: new FairLimiter({ concurrency: 1, share: 1 }),
      owner: OWNER,
      filling: { maxMs: COUNTING_MS, isFull: () => false },
    },
  });

  constructor(
    { TELEMETRY_QUOTA_SPANS_PER_DAY }: Environment,
    private readonly usage: SpanUsageRepository,
  ) {
    this.quota = TELEMETRY_QUOTA_SPANS_PER_DAY ?? null;
  }

  /** Returns the spans of an organization today. Null without a quota, because they are not counted then. */
  async used(orgId: string): Promise<number | null> {
    if (this.quota === null) return null;
    const day = today();
    const key = keyOf(orgId, day);
    this.learn(key, day, await this.reads.find(key, () => this.usage.find(orgId, day)));
    return this.known(key);
  }

  /** Throws 429, with the seconds until the next day, if the quota is used up. */
  async check(orgId: string): Promise<void> {
    if (this.quota === null) return;
    const used = await this.used(orgId);
    if (used! >= this.quota) throw exceeded(this.quota, used!);
  }

  /** Reserves spans until they are stored. Call `check` before. Throws 429 for more spans than are left. */
  reserve(orgId: string, spans: number): void {
    if (this.quota === null) return;
    const reserved = this.reserved.get(orgId) ?? 0;
    const used = this.known(keyOf(orgId, today())) + reserved;
    if (used + spans > this.quota) throw exceeded(this.quota, used, spans);
    this.reserved.set(orgId, reserved + spans);
  }

  /** Ends a reservation. */
  release(orgId: string, spans: number): void {
    const left = (this.reserved.get(orgId) ?? 0) - spans;
    if (left > 0) this.reserved.set(orgId, left);
    else this.reserved.delete(orgId);
  }

  /** Counts stored spans. */
  add(orgId: string, spans: number): void {
    if (this.quota === null || spans === 0) return;
    const day = today();
    this.change(keyOf(orgId, day), spans);
    const write = this.counts.add([orgId], { orgId, day, spans }).catch((err: unknown) => {
      this.change(keyOf(orgId, day), -spans);
      rootLogger.warn({ err, org_id: orgId }, 'stored spans could not be counted');
    });
    this.writes.add(write);
    void write.finally(() => this.writes.delete(write));
  }

  /** Waits until the counts are written. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.writes);
  }

  private async write(counts: readonly SpanCount[]): Promise<void[]> {
    const sums = new Map<string, SpanCount>();
    for (const count of counts) {
      const key = keyOf(count.orgId, count.day);
      const sum = sums.get(key);
      if (sum) sum.spans += count.spans;
      else sums.set(key, { ...count });
    }
    const sorted = [...sums.values()].sort((one, other) => (one.orgId < other.orgId ? -1 : 1));
    for (const day of [...new Set(sorted.map((sum) => sum.day))].sort()) {
      const totals = await this.usage.add(sorted.filter((sum) => sum.day === day));
      for (const { orgId, spans } of totals) this.learn(keyOf(orgId, day), day, spans);
    }
    for (const [key, { spans }] of sums) this.change(key, -spans);
    return counts.map(() => undefined);
  }

  private known(key: string): number {
    return (this.written.get(key) ?? 0) + (this.unwritten.get(key) ?? 0);
  }

  private learn(key: string, day: string, spans: number): void {
    if (day > this.day) {
      this.day = day;
      this.written.clear();
    }
    if (day === this.day) this.written.set(key, Math.max(this.written.get(key) ?? 0, spans));
  }

  private change(key: string, spans: number): void {
    const sum = (this.unwritten.get(key) ?? 0) + spans;
    if (sum === 0) this.unwritten.delete(key);
    else this.unwritten.set(key, sum);
  }
}

const keyOf = (orgId: string, day: string): string => `${day} ${orgId}`;

/** Returns the current day in UTC, such as `2026-03-01`. */
export const today = (): string => new Date().toISOString().slice(0, 10);

/** Returns the end of the current day in UTC. */
export const endOfDay = (): Date => new Date((Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS);

function exceeded(quota: number, used: number, spans?: number): Error {
  const size = spans === undefined ? ' The export was refused.' : ` This export has ${spans}.`;
  return problem.rateLimited(
    `Your organization has used ${used} of ${quota} spans (\`TELEMETRY_QUOTA_SPANS_PER_DAY\`) today (UTC).${size} None of its spans were stored. Send fewer spans, for example by sampling, wait until the next day, or ask the operator for a larger quota. See \`GET /registry/v1/usage\`.`,
    Math.ceil((endOfDay().getTime() - Date.now()) / 1000),
  );
}
