import { Injectable } from '@nestjs/common';
import { Database, DELETE_BATCH, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { isLockTimeout } from '#platform/problem';
import { RetentionPolicy } from '../../registry';
import { ExportRepository } from '../exports/export.repository';
import {
  DayPartitionRepository,
  PARTITIONED_TABLES,
  type PartitionedTable,
} from '../partitions/day-partition.repository';
import { SourceWriteRepository } from '../sources/source-write.repository';
import { TraceDeleteRepository } from '../traces/trace-delete.repository';
import { RecordRetentionRepository } from './record-retention.repository';

/** How long dropping a partition may wait for running statements and block new ones. */
const LOCK_MS = 500;

/** Sources outlive their records by this many days, because a process writes a source only once a day. */
const SOURCE_DAYS = 2;

/** Days for which stored exports are remembered. Exporters stop retrying after minutes. */
const EXPORT_DAYS = 2;

/** The members of a workspace's retention, by table. */
const MEMBERS = { spans: 'traces_days', log_records: 'logs_days', metric_points: 'metrics_days' } as const;

/** For how many days each workspace keeps the rows of a table, if it is for fewer days than the installation. */
type NarrowerDays = Map<string, Partial<Record<PartitionedTable, number>>>;

/** Traces of a workspace that are deleted at once, with all their spans. */
const TRACES_AT_ONCE = 200;

/**
 * Deletes traces, logs and metrics that arrived more days ago than they are kept, day by day, the oldest first. Drops whole days
 * by the retention of the installation, and deletes the rows of workspaces that keep them for fewer days. Safe to run in any
 * number of workers at once.
 */
@Injectable()
export class TelemetryRetention {
  constructor(
    private readonly policy: RetentionPolicy,
    private readonly database: Database,
    private readonly partitions: DayPartitionRepository,
    private readonly traces: TraceDeleteRepository,
    private readonly sources: SourceWriteRepository,
    private readonly exports: ExportRepository,
    private readonly records: RecordRetentionRepository,
  ) {}

  async deleteExpired(): Promise<void> {
    const today = (await this.partitions.days(0))[0]!;
    const narrower: NarrowerDays = new Map();
    for (const table of PARTITIONED_TABLES) {
      await this.dropExpired(table, today, this.policy.installationDays(MEMBERS[table]));
      await this.deleteOfWorkspaces(table, today, narrower);
    }
    await this.sources.deleteBefore(daysBefore(await this.oldestDay(today), SOURCE_DAYS));
    await this.deleteSourcesOfWorkspaces(narrower, today);
    await this.exports.deleteBefore(daysBefore(today, EXPORT_DAYS));
  }

  /** @param days for how many days rows are stored; undefined means forever */
  private async dropExpired(table: PartitionedTable, today: string, days: number | undefined): Promise<void> {
    if (days === undefined) return;
    const firstRetainedDay = daysBefore(today, days);
    for (const day of await this.partitions.list(table)) {
      if (day < firstRetainedDay) await this.drop(table, day);
    }
  }

  /**
   * Drops the partition of a day. For spans, first deletes the rows of their traces in batches. After that, nobody finds the
   * spans, and a late span creates its trace again, in today's partition. Then drops the partition together with the rows
   * that writers had locked. Locks these rows before the partition, and their sessions after it, in the order that all
   * writers use. If the lock is not free in time, leaves the day to the next run.
   */
  private async drop(table: PartitionedTable, day: string): Promise<void> {
    if (table === 'spans') while ((await this.deleteUnusedTraces(day)) === DELETE_BATCH);
    try {
      await this.database.transaction(async (tx) => {
        await this.partitions.setLockTimeout(tx, LOCK_MS);
        const remaining = table === 'spans' ? await this.traces.lockDay(tx, day) : [];
        await this.traces.deleteRows(tx, remaining);
        await this.partitions.drop(tx, table, day);
        await this.traces.updateSessions(tx, remaining);
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      rootLogger.info({ day }, `a partition of ${table} is in use; the next run will try again`);
    }
  }

  /** Deletes some traces of a day that no writer has locked. @returns their number */
  private deleteUnusedTraces(day: string): Promise<number> {
    return this.database.transaction(async (tx: Tx) => {
      const unused = await this.traces.lockUnused(tx, day, DELETE_BATCH);
      await this.traces.deleteRows(tx, unused);
      await this.traces.updateSessions(tx, unused);
      return unused.length;
    });
  }

  /** Deletes what workspaces keep for fewer days than the installation, in batches that skip what a writer has locked. */
  private async deleteOfWorkspaces(
    table: PartitionedTable,
    today: string,
    narrower: NarrowerDays,
  ): Promise<void> {
    const existing = await this.partitions.list(table);
    for await (const { workspaceId, days } of this.policy.narrower(MEMBERS[table])) {
      narrower.set(workspaceId, { ...narrower.get(workspaceId), [table]: days });
      const firstRetainedDay = daysBefore(today, days);
      const expired = existing.filter((day) => day < firstRetainedDay);
      if (expired.length === 0) continue;
      const rows = table === 'spans' ? 'traces' : table;
      for (const day of await this.records.daysWithRows(rows, workspaceId, expired)) {
        if (table !== 'spans') await this.records.deleteDay(table, workspaceId, day);
        else while ((await this.deleteTracesOf(workspaceId, day)) === TRACES_AT_ONCE);
      }
    }
  }

  /** Deletes the sources that only expired records of a workspace can have. All signals share the sources. */
  private async deleteSourcesOfWorkspaces(narrower: NarrowerDays, today: string): Promise<void> {
    for (const [workspaceId, own] of narrower) {
      const days = PARTITIONED_TABLES.map(
        (table) => own[table] ?? this.policy.installationDays(MEMBERS[table]) ?? Infinity,
      );
      const longest = Math.max(...days);
      if (longest === Infinity) continue;
      await this.sources.deleteBefore(daysBefore(today, longest + SOURCE_DAYS), workspaceId);
    }
  }

  /** Deletes some traces of a workspace and a day, with their spans. @returns their number */
  private deleteTracesOf(workspaceId: string, day: string): Promise<number> {
    return this.database.transaction(async (tx: Tx) => {
      const unused = await this.traces.lockUnused(tx, day, TRACES_AT_ONCE, workspaceId);
      await this.traces.deleteSpans(tx, unused);
      await this.traces.deleteRows(tx, unused);
      await this.traces.updateSessions(tx, unused);
      return unused.length;
    });
  }

  /** Returns the oldest day with records of any signal, but no later than `day`. All signals share the sources. */
  private async oldestDay(day: string): Promise<string> {
    const tables = await Promise.all(PARTITIONED_TABLES.map((table) => this.partitions.list(table)));
    return tables
      .flatMap(([oldest]) => oldest ?? [])
      .reduce((one, other) => (other < one ? other : one), day);
  }
}

/** Returns the day that is this many days earlier. */
function daysBefore(day: string, days: number): string {
  const before = new Date(`${day}T00:00:00Z`);
  before.setUTCDate(before.getUTCDate() - days);
  return before.toISOString().slice(0, 10);
}
