import type { Scope } from '#platform/auth';
import {
  arrayParameter,
  followIndexes,
  join,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  Where,
} from '#platform/db';
import { listPage, type RowPage, scanPage } from '#platform/paging';
import { addTimes, attributeConditions } from '../list-conditions.repository';
import type { RecordListQueryDto } from '../list-query.dto';
import { cutPage, type SizedRow } from '../page-budget';
import { type SourceParts, SourceReadRepository } from '../sources/source-read.repository';

/** A table of records by day. Each record has a time, by which it is listed, and a number. */
export interface RecordTable {
  name: 'log_records' | 'metric_points';
  time: string;
  number: string;
  /** Columns of a record `t`, without its source. */
  columns: string;
}

/** The conditions of a list besides its times and attributes, all on a record `t`. */
export interface RecordConditions {
  /** A condition with an index of its own that ends with the time and the number. */
  indexed?: Sql | undefined;
  /** Other conditions on its columns. */
  columns: readonly Sql[];
  /** Conditions on its content. */
  content: readonly Sql[];
}

/** A record of a page before its content is read. */
interface SizedRecord extends SizedRow {
  day: string;
  page_key: string;
}

/** Members of a fixed size, and content. Sources are looked up by the keys of the row, not joined. */
const ANSWERED_SIZE = `1000 + t.content_size + coalesce((SELECT o.size FROM span_sources o
  WHERE o.workspace_id = t.workspace_id AND o.source_id = t.source_id), 0)`;

/** A KiB of content costs as much as a row. */
const LOOKUP_COST = raw('(1 + t.content_size / 1024)');

/** Lists records by their times. */
export class RecordListRepository<Row> {
  constructor(
    private readonly database: SqlExecutor,
    private readonly table: RecordTable,
  ) {}

  /**
   * Reads a page of the selected records. It has fewer than the limit, but at least one, where they exceed PAGE_BYTES.
   * Their sizes decide which are on the page, and only those are read. Conditions that no index serves are checked on a
   * bounded number of records, see `scanPage`.
   */
  async list(
    scope: Scope,
    query: RecordListQueryDto,
    conditions: RecordConditions,
  ): Promise<RowPage<Row & SourceParts>> {
    await followIndexes(this.database);
    const found = await this.find(scope, query, conditions);
    const { rows, page } = cutPage(found, query.sort ?? this.defaultSort);
    return { rows: await this.read(scope, rows), page };
  }

  private get defaultSort(): string {
    return `-${this.table.time}`;
  }

  private find(
    scope: Scope,
    query: RecordListQueryDto,
    { indexed, columns, content }: RecordConditions,
  ): Promise<RowPage<SizedRecord>> {
    const { name, time, number } = this.table;
    const where = addTimes(Where.estimatedByAverage(scope.key), time, query);
    where.addIf(indexed, (condition) => condition);
    const isUnfiltered = query.since === undefined && query.until === undefined && !indexed;
    const lookups = [...content, ...attributeConditions('t', query.attribute)];
    const spec = {
      columns: `t.day::text AS day, ${ANSWERED_SIZE} AS answered_size`,
      where,
      id: `t.${number}`,
      idType: 'int8' as const,
      sorts: { [time]: { expression: `t.${time}`, type: 'timestamptz' as const } },
      defaultSort: this.defaultSort,
    };
    if (columns.length + lookups.length === 0) {
      const from = `${name} t`;
      return listPage(this.database, { ...spec, from, ...(isUnfiltered && { name: `${name}.list` }) }, query);
    }
    const scan = {
      ...spec,
      table: name,
      ...(columns.length > 0 && { condition: join(columns, ' AND ') }),
      ...(lookups.length > 0 && { lookup: join(lookups, ' AND '), cost: LOOKUP_COST }),
    };
    return scanPage(this.database, scan, query);
  }

  /**
   * Reads records in this order, each by its own keys. The days are given once more as a list: PostgreSQL knows it before
   * it plans, and neither plans for nor locks the partitions of other days. Never prepared, for the same reason.
   */
  private async read(scope: Scope, records: readonly SizedRecord[]): Promise<(Row & SourceParts)[]> {
    if (records.length === 0) return [];
    const { name, time, number, columns } = this.table;
    const [table, timeColumn, numberColumn] = [raw(name), raw(`t.${time}`), raw(`t.${number}`)];
    const places = arrayParameter(
      'timestamptz',
      records.map(({ page_key }) => BigInt(page_key)),
    );
    const stored = await this.database.query<Row & { source_id: string; record_no: string }>(
      sql`SELECT ${raw(columns)}, t.source_id, ${numberColumn}::text AS record_no
      FROM unnest(${records.map(() => scope.workspaceId)}::text[], ${records.map(({ day }) => day)}::date[],
        ${places}::timestamptz[], ${records.map(({ page_id }) => page_id)}::int8[]) AS asked(workspace_id, day, time, number),
      LATERAL (SELECT * FROM ${table} t WHERE t.workspace_id = asked.workspace_id
        AND t.day = asked.day AND t.day = ANY(${[...new Set(records.map(({ day }) => day))]}::date[])
        AND ${timeColumn} = asked.time AND ${numberColumn} = asked.number OFFSET 0) t`,
    );
    const found = await new SourceReadRepository(this.database).join(scope, stored);
    const rows = new Map<string, object>(found.map(({ record_no, ...row }) => [record_no as string, row]));
    return records.flatMap(({ page_id }) => (rows.get(page_id) as (Row & SourceParts) | undefined) ?? []); // or gone since
  }
}

/** The condition that a column has this value. */
export const equals = (column: string, value: unknown): Sql => sql`t.${raw(column)} = ${value}`;
