import type { Scope } from '#platform/auth';
import { BulkColumns, followIndexes, join, raw, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import { listPage, type RowPage, type RowPlace } from '#platform/paging';
import { addTimes, attributeConditions } from '../list-conditions.sql';
import type { RecordListQueryDto } from '../list-query.dto';
import { type SourceParts, SourceReadRepository } from '../sources/source-read.repository';

/** A table of records that is partitioned by day. Lists sort by its time column, then by its number column. */
export interface RecordTable {
  name: 'log_records' | 'metric_points';
  time: string;
  number: string;
  /** The selected columns of a record `t`, without its source. */
  columns: string;
}

/** Conditions on a record `t`, in addition to those on times and attributes. */
export interface RecordConditions {
  /** A condition served by an index whose last columns are the time and the number. */
  indexed?: Sql | undefined;
  /** Other conditions on its columns. */
  columns: readonly Sql[];
  /** Conditions on its content. */
  content: readonly Sql[];
}

/** A record of a page before its content is read. */
interface PlacedRecord extends RowPlace {
  day: string;
}

const KEYS = new BulkColumns<PlacedRecord & { workspace_id: string }>([
  { name: 'workspace_id', type: 'text', value: ({ workspace_id }) => workspace_id },
  { name: 'day', type: 'date', value: ({ day }) => day },
  { name: 'time', type: 'timestamptz', value: ({ page_key }) => BigInt(page_key!) },
  { name: 'number', type: 'int8', value: ({ page_id }) => BigInt(page_id) },
]);

/** An upper bound of a record's size as JSON, in bytes: members of a fixed size, and content. */
const RESPONSE_SIZE = `1000 + t.content_size + coalesce((SELECT o.size FROM span_sources o
  WHERE o.workspace_id = t.workspace_id AND o.source_id = t.source_id), 0)`;

/** The cost of checking a record's content: a KiB costs as much as a row. */
const LOOKUP_COST = raw('(1 + t.content_size / 1024)');

/** Lists records by their times. */
export abstract class RecordListRepository<Row> {
  protected constructor(
    private readonly database: SqlExecutor,
    private readonly table: RecordTable,
  ) {}

  /**
   * Reads a page of the selected records. Reads the sizes first, and then only the content of the records on the page. Checks
   * conditions that no index serves on a bounded number of records, see `listPage`.
   */
  protected async listBy(
    scope: Scope,
    query: RecordListQueryDto,
    conditions: RecordConditions,
  ): Promise<RowPage<Row & SourceParts>> {
    await followIndexes(this.database);
    const { rows, page } = await this.find(scope, query, conditions);
    return { rows: await this.read(scope, rows), page };
  }

  private find(
    scope: Scope,
    query: RecordListQueryDto,
    { indexed, columns, content }: RecordConditions,
  ): Promise<RowPage<PlacedRecord>> {
    const { name, time, number } = this.table;
    const where = addTimes(Where.estimatedByAverage(scope.key), time, query);
    where.addIf(indexed, (condition) => condition);
    const isUnfiltered = query.since === undefined && query.until === undefined && !indexed;
    const lookups = [...content, ...attributeConditions('t', query.attribute)];
    const spec = {
      from: `${name} t`,
      columns: 't.day::text AS day',
      bytes: RESPONSE_SIZE,
      where,
      id: `t.${number}`,
      idType: 'int8' as const,
      sorts: { [time]: { expression: `t.${time}`, type: 'timestamptz' as const } },
      defaultSort: `-${time}`,
    };
    if (columns.length + lookups.length === 0) {
      return listPage(this.database, { ...spec, ...(isUnfiltered && { name: `${name}.list` }) }, query);
    }
    const scan = {
      ...(columns.length > 0 && { condition: join(columns, ' AND ') }),
      ...(lookups.length > 0 && { lookup: join(lookups, ' AND '), cost: LOOKUP_COST }),
    };
    return listPage(this.database, { ...spec, scan }, query);
  }

  /**
   * Reads records in the given order, each by its keys. Days are both joined and listed, so that PostgreSQL neither plans for
   * nor locks the partitions of other days. Never prepared, because the plan must know the days.
   */
  private async read(scope: Scope, records: readonly PlacedRecord[]): Promise<(Row & SourceParts)[]> {
    if (records.length === 0) return [];
    const { name, time, number, columns } = this.table;
    const [table, timeColumn, numberColumn] = [raw(name), raw(`t.${time}`), raw(`t.${number}`)];
    const keys = records.map((record) => ({ ...record, workspace_id: scope.workspaceId }));
    const stored = await this.database.query<Row & { source_id: string; record_no: string }>(
      sql`SELECT ${raw(columns)}, t.source_id, ${numberColumn}::text AS record_no
      FROM ${KEYS.table(keys, 'keys')},
      LATERAL (SELECT * FROM ${table} t WHERE t.workspace_id = keys.workspace_id
        AND t.day = keys.day AND t.day = ANY(${[...new Set(records.map(({ day }) => day))]}::date[])
        AND ${timeColumn} = keys.time AND ${numberColumn} = keys.number OFFSET 0) t`,
    );
    const joined = await new SourceReadRepository(this.database).join(scope, stored);
    const rows = new Map<string, object>(joined.map(({ record_no, ...row }) => [record_no as string, row]));
    return records.flatMap(({ page_id }) => (rows.get(page_id) as (Row & SourceParts) | undefined) ?? []); // deleted since
  }
}

/** Returns the condition that a column has this value. */
export const equals = (column: string, value: unknown): Sql => sql`t.${raw(column)} = ${value}`;
