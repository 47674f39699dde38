import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  BulkColumns,
  Database,
  DELETE_BATCH,
  deleteInBatches,
  empty,
  inChunks,
  indexOrdered,
  prepared,
  raw,
  sql,
  type Tx,
} from '#platform/db';
import { TODAY } from '../partitions/day-partition.repository';
import { sourceKey, type WorkspaceSource } from './source-record';

/** Number of stored sources that a process caches, so that it does not write them again. */
const CACHED_SOURCES = 10_000;

/**
 * How long a process remembers that it has stored a source. An erasure may have deleted it since, if it names the user. It is
 * stored again with newer data.
 */
const CACHED_MS = 10 * 60_000;

const COLUMNS = new BulkColumns<WorkspaceSource>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'source_id', type: 'uuid', value: ({ id }) => id },
  { name: 'resource', type: 'json', value: ({ resource }) => resource },
  { name: 'scope', type: 'json', value: ({ scope }) => scope },
]);

/** Stores and deletes the sources of records. */
@Injectable()
export class SourceWriteRepository {
  /** The day on which this process last stored each source. */
  private readonly storedOn = new LRUCache<string, string>({ max: CACHED_SOURCES, ttl: CACHED_MS });

  constructor(private readonly database: Database) {}

  /** Stores missing sources and marks all as used today. Skips sources that this process has already marked today. */
  async upsert(tx: Tx, sources: readonly WorkspaceSource[]): Promise<void> {
    const today = new Date().toISOString().slice(0, 10);
    const unmarked = sources.filter(
      ({ workspaceId, id }) => this.storedOn.get(sourceKey(workspaceId, id)) !== today,
    );
    await inChunks(unmarked, (chunk) => tx.query(upsertMany(chunk)));
    tx.afterCommit(() => {
      for (const { workspaceId, id } of unmarked) this.storedOn.set(sourceKey(workspaceId, id), today);
    });
  }

  /** Deletes sources that were last used before the day, in one workspace or in all. */
  deleteBefore(day: string, workspaceId?: string): Promise<void> {
    const ofOne = workspaceId === undefined ? empty : sql`workspace_id = ${workspaceId} AND `;
    const isOld = sql`${ofOne}day < ${day}::date`;
    return deleteInBatches(
      this.database,
      indexOrdered(
        sql`WITH deleted AS (
            DELETE FROM span_sources WHERE ctid = ANY(ARRAY(
              SELECT ctid FROM span_sources WHERE ${isOld}
              ORDER BY ${raw(workspaceId === undefined ? 'day' : 'workspace_id, day')}
              LIMIT ${raw(String(DELETE_BATCH))} FOR UPDATE SKIP LOCKED
            )) AND ${isOld} RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}

/** Locks sources in the order of their keys. For a stored source, only the day changes. */
const upsertMany = (sources: readonly WorkspaceSource[]) =>
  prepared(
    'span-source.upsert',
    sql`INSERT INTO span_sources AS o (day, ${COLUMNS.columnList})
    SELECT ${TODAY}, ${COLUMNS.columnList} FROM ${COLUMNS.table(sources, 'input')}
    ON CONFLICT (workspace_id, source_id) DO UPDATE SET day = excluded.day WHERE o.day < excluded.day`,
  );
