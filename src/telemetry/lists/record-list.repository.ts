import type { Scope } from '#platform/auth';
import { arrayParameter, followIndexes, type SqlExecutor, timeOfMicroseconds, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, scanPage } from '#platform/paging';
import { type SourceParts, SourceReadRepository } from '../sources/source-read.repository';
import type { AttributeFilter, TimeBounds } from '../trace-list';
import { hasAttribute } from './attribute-condition';
import { cutPage, type SizedRow } from './page-budget';

/** A table of records by day, each of which has a time, by which it is listed, and a number. */
export interface RecordTable {
  name: 'log_records' | 'metric_points';
  time: string;
  number: string;
  /** What is answered of a record `t`, without its source. */
  columns: string;
}

/** Adds what is asked of a record `t` to the parameters of a statement, and answers how it is written. */
export type Condition = (where: Where) => string;

/** Which records to list. */
export interface RecordSelection extends TimeBounds {
  /** What an index serves that goes on with the time and the number. */
  narrow?: Condition;
  /** What else columns of a record tell. */
  conditions: Condition[];
  /** What is looked for in its content. */
  lookups: Condition[];
}

/** A record of a page before it is read. */
interface SizedRecord extends SizedRow {
  day: string;
  page_key: string;
}

const TIME = timeOfMicroseconds('?');

/** Members of a fixed size, and content. Sources are looked up, not joined, by keys that rows carry. */
const ANSWERED_SIZE = `1000 + t.content_size + coalesce((SELECT o.size FROM span_sources o
  WHERE o.workspace_id = t.workspace_id AND o.source_id = t.source_id), 0)`;

/** Of rows that are looked into: a KiB of content is taken for one. */
const COST = '(1 + t.content_size / 1024)';

/** Lists of records, by their times. */
export class RecordListRepository<Row> {
  constructor(
    private readonly database: SqlExecutor,
    private readonly table: RecordTable,
  ) {}

  /**
   * A page of the records that are selected: at most as many as asked for, and fewer, but one, where they come to more
   * than PAGE_BYTES. They are chosen by their sizes, and only those that are answered are read. What no index serves is
   * looked for in a bounded number of records, see `scanPage`.
   */
  async list(
    scope: Scope,
    selection: RecordSelection,
    query: ListQueryDto,
  ): Promise<RowPage<Row & SourceParts>> {
    await followIndexes(this.database);
    const found = await this.find(scope, selection, query);
    const { rows, page } = cutPage(found, query.sort ?? this.defaultSort);
    return { rows: await this.read(scope, rows), page };
  }

  private get defaultSort(): string {
    return `-${this.table.time}`;
  }

  private find(
    scope: Scope,
    { narrow, conditions, lookups, since_us, until_us }: RecordSelection,
    query: ListQueryDto,
  ): Promise<RowPage<SizedRecord>> {
    const { name, time, number } = this.table;
    const where = Where.estimatedByAverage(scope.key)
      .addIf(since_us, `${time} >= ${TIME}`)
      .addIf(until_us, `${time} < ${TIME}`);
    if (narrow) where.add(narrow(where));
    const spec = {
      columns: `t.day::text AS day, ${ANSWERED_SIZE} AS answered_size`,
      where,
      id: `t.${number}`,
      idType: 'int8' as const,
      sorts: { [time]: { expression: `t.${time}`, type: 'timestamptz' as const } },
      defaultSort: this.defaultSort,
    };
    if (conditions.length + lookups.length === 0) {
      return listPage(this.database, { ...spec, from: `${name} t` }, query);
    }
    const all = (these: Condition[]) => (on: Where) => these.map((one) => one(on)).join(' AND ');
    const scan = {
      ...spec,
      table: name,
      ...(conditions.length > 0 && { condition: all(conditions) }),
      ...(lookups.length > 0 && { lookup: all(lookups), cost: COST }),
    };
    return scanPage(this.database, scan, query);
  }

  /**
   * Records in the order they are given. Each is looked up by its own keys: by its day, so that its partition alone is
   * looked into. The days are told once more by themselves, which PostgreSQL knows before it plans, so that it neither
   * plans for nor locks the partitions of other days. Never prepared, for the same reason.
   */
  private async read(scope: Scope, records: readonly SizedRecord[]): Promise<(Row & SourceParts)[]> {
    if (records.length === 0) return [];
    const { name, time, number, columns } = this.table;
    const statement = `SELECT ${columns}, t.source_id, t.${number}::text AS record_no
      FROM unnest($1::text[], $2::date[], $3::timestamptz[], $4::int8[]) AS asked(workspace_id, day, time, number),
      LATERAL (SELECT * FROM ${name} t WHERE t.workspace_id = asked.workspace_id
        AND t.day = asked.day AND t.day = ANY($5::date[])
        AND t.${time} = asked.time AND t.${number} = asked.number OFFSET 0) t`;
    const stored = await this.database.query<Row & { source_id: string; record_no: string }>(statement, [
      arrayParameter(
        'text',
        records.map(() => scope.workspaceId),
      ),
      arrayParameter(
        'date',
        records.map(({ day }) => day),
      ),
      arrayParameter(
        'timestamptz',
        records.map(({ page_key }) => BigInt(page_key)),
      ),
      arrayParameter(
        'int8',
        records.map(({ page_id }) => BigInt(page_id)),
      ),
      [...new Set(records.map(({ day }) => day))],
    ]);
    const found = await new SourceReadRepository(this.database).join(scope, stored);
    const rows = new Map<string, object>(found.map((row) => [row.record_no as string, row]));
    return records.flatMap(({ page_id }) => (rows.get(page_id) as (Row & SourceParts) | undefined) ?? []); // or gone since
  }
}

/** An attribute that a record has, or its resource. */
export const ofAttribute =
  (attribute: AttributeFilter): Condition =>
  (where) =>
    hasAttribute(where, 't', attribute);

/** A column that has this value. */
export const equals =
  (column: string, value: unknown): Condition =>
  (where) =>
    `t.${column} = ${where.parameter(value)}`;
