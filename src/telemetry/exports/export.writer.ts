import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import type { OtlpBody } from '../otlp-http/otlp-body.decorator';
import { DayPartitions } from '../partitions/day-partitions';
import type { PartitionedTable } from '../partitions/day-partition.repository';
import { type Source, sourcesOf } from '../sources/source-record';
import { SourceWriter } from '../sources/source.writer';
import { type ExportKey, ExportRepository } from './export.repository';

/** What an export holds, as it is to be stored. */
export interface ExportedRecords<Row> {
  workspaceId: string;
  body: OtlpBody;
  /** Whether all records have times of their own: only then are two exports that are alike the same one. */
  isTimed: boolean;
  rows: readonly Row[];
}

/** A record of an export, and where it comes from. */
export interface SourcedRow {
  workspaceId: string;
  source: Source;
}

/**
 * Stores what has no id of its own, each export once. One that is sent again, because its answer was lost, is known by
 * its body: whoever has the same bytes sent, with times in them, has sent the same export.
 */
@Injectable()
export class ExportWriter {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitions,
    private readonly exports: ExportRepository,
    private readonly sources: SourceWriter,
  ) {}

  /**
   * In one transaction: when it returns they are committed. All writers lock exports, then sources, each in the order of
   * their keys.
   *
   * @param insert writes the rows of those that were not stored yet, in the order in which they came
   */
  async write<Row extends SourcedRow>(
    table: PartitionedTable,
    exports: readonly ExportedRecords<Row>[],
    insert: (tx: Tx, rows: readonly Row[]) => Promise<void>,
  ): Promise<void> {
    const sent = new Map<string, ExportKey & Pick<ExportedRecords<Row>, 'rows'>>();
    for (const { workspaceId, body, isTimed, rows } of exports) {
      const exportId = isTimed ? exportIdOf(table, body) : randomUUID().replaceAll('-', '');
      const key = { workspaceId, exportId };
      if (rows.length > 0 && !sent.has(nameOf(key))) sent.set(nameOf(key), { ...key, rows });
    }
    if (sent.size === 0) return;
    const keys = [...sent].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, key]) => key);
    await this.partitions.withPartitions(table, () =>
      this.database.transaction(async (tx) => {
        const fresh = new Set((await this.exports.keepNew(tx, keys)).map(nameOf));
        const rows = [...sent].flatMap(([name, one]) => (fresh.has(name) ? one.rows : []));
        await insert(tx, rows);
        await this.sources.keep(tx, sourcesOf(rows));
      }),
    );
  }
}

/** The same bytes may be an export of another kind, or in another encoding. */
const exportIdOf = (table: PartitionedTable, { bytes, encoding }: OtlpBody): string =>
  createHash('sha256').update(`${table} ${encoding}\n`).update(bytes).digest('hex').slice(0, 32);

const nameOf = ({ workspaceId, exportId }: ExportKey): string => `${workspaceId} ${exportId}`;
