import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import type { RefusalReason } from '../deletion/refusals';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { DayPartitions } from '../partitions/day-partitions';
import type { PartitionedTable } from '../partitions/day-partition.repository';
import { type Sourced, sourcesOf } from '../sources/source-record';
import { SourceWriteRepository } from '../sources/source-write.repository';
import { type ExportKey, ExportRepository } from './export.repository';

/** The records of an export. */
export interface ExportedRecords<Row> {
  workspaceId: string;
  body: OtlpBody;
  /** Whether every record has a time. Only then do identical bytes mean that the export is a retry. */
  isTimed: boolean;
  rows: readonly Row[];
}

/** The steps of a transaction that depend on the signal. */
export interface ExportSteps<Row> {
  /** Locks what the other steps need, before everything else. */
  lock?(tx: Tx, workspaceIds: readonly string[]): Promise<void>;
  /** Returns the rows to refuse, which are not stored. */
  refuse?(tx: Tx, rows: readonly Row[]): Promise<ReadonlyMap<Row, RefusalReason>>;
  /** Writes the rows of the exports that are not stored yet, in their order. */
  insert(tx: Tx, rows: readonly Row[]): Promise<void>;
  /** Writes related rows of other tables, after everything else is locked. */
  finish?(tx: Tx, rows: readonly Row[]): Promise<void>;
}

/**
 * Stores records that have no ids, each export once. Recognizes an export that is sent again, because its response was lost, by
 * its body: identical bytes that contain times are the same export. Without times, it needs an idempotency key.
 */
@Injectable()
export class ExportWriter {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitions,
    private readonly exports: ExportRepository,
    private readonly sources: SourceWriteRepository,
  ) {}

  /**
   * Stores exports in one transaction. When it returns, they are committed. All writers lock exports, then sources, each in
   * the order of their keys.
   *
   * @returns the refused rows
   */
  async write<Row extends Sourced>(
    table: PartitionedTable,
    exports: readonly ExportedRecords<Row>[],
    steps: ExportSteps<Row>,
  ): Promise<ReadonlyMap<Row, RefusalReason>> {
    const sent = new Map<string, ExportKey & Pick<ExportedRecords<Row>, 'rows'>>();
    for (const { workspaceId, body, isTimed, rows } of exports) {
      const key = { workspaceId, exportId: exportIdOf(table, body, isTimed) };
      if (rows.length > 0 && !sent.has(nameOf(key))) sent.set(nameOf(key), { ...key, rows });
    }
    if (sent.size === 0) return new Map();
    const keys = [...sent].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, key]) => key);
    const workspaceIds = [...new Set(keys.map(({ workspaceId }) => workspaceId))];
    return this.partitions.withPartitions(table, () =>
      this.database.transaction(async (tx) => {
        await steps.lock?.(tx, workspaceIds);
        const inserted = new Set((await this.exports.insertNew(tx, keys)).map(nameOf));
        const missing = [...sent].flatMap(([name, one]) => (inserted.has(name) ? one.rows : []));
        const refused = (await steps.refuse?.(tx, missing)) ?? new Map<Row, RefusalReason>();
        const rows = refused.size === 0 ? missing : missing.filter((row) => !refused.has(row));
        await steps.insert(tx, rows);
        await this.sources.upsert(tx, sourcesOf(rows));
        await steps.finish?.(tx, rows);
        return refused;
      }),
    );
  }
}

/** Includes the encoding and the table in the hash, because the same bytes may be a different export there. */
function exportIdOf(
  table: PartitionedTable,
  { bytes, encoding, repeatId = randomUUID() }: OtlpBody,
  isTimed: boolean,
): string {
  const hash = createHash('sha256').update(`${table} ${encoding}\n`);
  return hash
    .update(isTimed ? bytes : repeatId)
    .digest('hex')
    .slice(0, 32);
}

const nameOf = ({ workspaceId, exportId }: ExportKey): string => `${workspaceId} ${exportId}`;
