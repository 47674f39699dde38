import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  empty,
  join,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
  WorkspaceScopedRepository,
} from '#platform/db';
import { BY_CHANGE, type ListQueryDto, listPage, type RowPage, TOTAL_MAX } from '#platform/paging';
import type { RecordChange } from '../datasets/dataset.repository';
import type { RECORD_FILTERS, RecordListQueryDto } from './record.dto';
import { RECORD_WORDS } from './record-words.repository';
import { RECORD_COLUMNS, RecordEntity, type RecordVersionRow, VERSION_FIELDS } from './record.entity';

const VERSION = VERSION_FIELDS.join(', ');
const COLUMNS = RECORD_COLUMNS.join(', ');

/** A live record that has an external id. */
export interface ExistingRecord {
  dataset_record_id: string;
  external_id: string;
  /** Size of the record, in bytes. */
  bytes: number;
}

/** A part of a dataset that backs an experiment. All conditions must match. */
export interface CaseFilter {
  /** All of these tags. */
  tags?: string[];
  label?: string;
  category?: string;
  recordIds?: string[];
  /** Rows of a CSV version, by their case ids. */
  caseIds?: string[];
}

/** A record as it stood at a revision of its dataset. */
export interface RecordAsOf {
  version: number;
  /** Size of that version, in bytes. */
  bytes: number;
  /** Whether the record existed at that revision and was not archived. */
  is_live: boolean;
  /** Whether that version meets the filter. */
  is_selected: boolean;
  /** The id of its case: the `external_id` of that version, else the id of the record. */
  case_id: string;
}

/** Filters of lists and exports. */
export type RecordFilters = Pick<RecordListQueryDto, (typeof RECORD_FILTERS)[number]>;

export const addRecordFilters = (where: Where, filters: RecordFilters): Where =>
  where
    .addIndexed(filters.label, (label) => sql`label = ${label}`)
    .addIndexed(filters.category, (category) => sql`category = ${category}`)
    .addIf(filters.tag, (tag) => sql`tags @> ARRAY[${tag}::text]`)
    .addIndexed(filters.source_kind, (kind) => sql`source_kind = ${kind}`)
    .addIndexed(filters.source_ref, (ref) => sql`source_ref = ${ref}`)
    .addIf(filters.external_id, (id) => sql`external_id = ${id}`);

@Injectable()
export class RecordRepository extends WorkspaceScopedRepository<RecordEntity> {
  constructor(database: Database) {
    super(database, RecordEntity, 'dataset_record_id', { bytes: 'bytes' });
  }

  /**
   * Returns a page of records.
   * @param liveCount number of live records, which is the total of a list without filters
   */
  list(
    scope: Scope,
    datasetId: string,
    query: RecordListQueryDto,
    liveCount?: number,
  ): Promise<RowPage<RecordEntity>> {
    const where = addRecordFilters(new Where(scope.key).add(sql`dataset_id = ${datasetId}`), query);
    where.addSearch(query.q, RECORD_WORDS);
    const isCountKnown = liveCount !== undefined && !where.isFiltered && query.include_archived !== true;
    const total = isCountKnown && liveCount <= TOTAL_MAX ? liveCount : null;
    return listPage<RecordEntity>(
      this.database,
      {
        ...this.listed,
        where,
        sorts: BY_CHANGE,
        ...(isCountKnown && { count: () => Promise.resolve(total) }),
      },
      query,
    );
  }

  listVersions(scope: Scope, recordId: string, query: ListQueryDto): Promise<RowPage<RecordVersionRow>> {
    const where = new Where(scope.key).add(sql`dataset_record_id = ${recordId}`);
    return listPage<RecordVersionRow>(
      this.database,
      {
        columns: VERSION,
        from: 'record_versions',
        where,
        id: 'version',
        createdAt: 'created_at',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  async findVersion(scope: Scope, recordId: string, version: number): Promise<RecordVersionRow | null> {
    const [row] = await this.database.query<RecordVersionRow>(
      sql`SELECT ${raw(VERSION)} FROM record_versions
        WHERE workspace_id = ${scope.workspaceId} AND dataset_record_id = ${recordId} AND version = ${version}`,
    );
    return row ?? null;
  }

  /** Returns the live records of a dataset that have one of these external ids. */
  findByExternalIds(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    ids: readonly string[],
  ): Promise<RecordEntity[]> {
    return on.query<RecordEntity>(lookUp(raw(COLUMNS), scope, datasetId, ids));
  }

  /** Like `findByExternalIds`, without the content of the records. */
  findExisting(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    ids: readonly string[],
  ): Promise<ExistingRecord[]> {
    return on.query<ExistingRecord>(
      lookUp(raw('dataset_record_id, external_id, bytes'), scope, datasetId, ids),
    );
  }

  /** Returns the records that were live at a revision of the dataset, each with its version at that revision. */
  asOf(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    revision: number,
    limit: number,
    filter: CaseFilter = {},
  ): Promise<{ dataset_record_id: string; version: number }[]> {
    return tx.query(
      sql`SELECT dataset_record_id, version
        FROM (${recordsAsOf(scope, datasetId, revision)} ${join([empty, ...conditionsOf(filter)], ' AND ')}) t
        ORDER BY dataset_record_id LIMIT ${limit}`,
    );
  }

  /** Returns the id of a live record whose `external_id` cannot be extended to the ids of trials, such as `q1#100`. */
  async findUnfitForTrials(
    tx: Tx,
    { workspaceId }: Scope,
    datasetId: string,
    filter: CaseFilter,
  ): Promise<string | null> {
    const conditions = [sql`true`, ...conditionsOf(filter, 'records', 'records')];
    const [row] = await tx.query<{ dataset_record_id: string }>(
      sql`SELECT dataset_record_id FROM records
        WHERE workspace_id = ${workspaceId} AND dataset_id = ${datasetId} AND archived_at IS NULL
          AND external_id IS NOT NULL AND (length(external_id) > 251 OR external_id ~ '#[0-9]+$')
          AND ${join(conditions, ' AND ')}
        LIMIT 1`,
    );
    return row?.dataset_record_id ?? null;
  }

  /**
   * Returns the existing records among `ids`, as they stood at a revision of the dataset. A record that was added later
   * has its first version. Without a dataset, returns records of the whole workspace in their newest version.
   *
   * @param filter the conditions that `is_selected` evaluates
   */
  async versionsAsOf(
    tx: Tx,
    { workspaceId }: Scope,
    datasetId: string | null,
    revision: number | null,
    ids: readonly string[],
    filter: CaseFilter = {},
  ): Promise<Map<string, RecordAsOf>> {
    const selected = [sql`true`, ...conditionsOf(filter)];
    const at = sql`${revision ?? Number.MAX_SAFE_INTEGER}::bigint`;
    const rows = await tx.query<RecordAsOf & { dataset_record_id: string }>(
      sql`SELECT r.dataset_record_id, coalesce(v.version, 1) AS version,
          coalesce(v.bytes, (
            SELECT first.bytes FROM record_versions first
            WHERE first.workspace_id = r.workspace_id AND first.dataset_record_id = r.dataset_record_id
              AND first.version = 1)) AS bytes,
          v.version IS NOT NULL AND NOT r.archived_during @> ${at} AS is_live,
          coalesce(${join(selected, ' AND ')}, false) AS is_selected,
          coalesce(CASE WHEN v.version IS NULL THEN r.external_id ELSE v.external_id END, r.dataset_record_id) AS case_id
        FROM (SELECT ${workspaceId}::text AS workspace_id, ${datasetId}::text AS dataset_id,
                     unnest(${ids}::text[]) AS dataset_record_id OFFSET 0) keys
        JOIN records r USING (workspace_id, dataset_record_id)
        LEFT JOIN LATERAL (
          SELECT version, bytes, tags, label, category, external_id FROM record_versions
          WHERE dataset_id = r.dataset_id AND dataset_record_id = r.dataset_record_id AND revision <= ${at}
          ORDER BY revision DESC LIMIT 1
        ) v ON true
        WHERE keys.dataset_id IS NULL OR r.dataset_id = keys.dataset_id`,
    );
    return new Map(rows.map((row) => [row.dataset_record_id, row]));
  }

  /** Archives records from this revision on, or makes them live again. */
  async setArchived(
    tx: Tx,
    { workspaceId }: Scope,
    ids: readonly string[],
    isArchived: boolean,
    { revision, at }: RecordChange,
  ): Promise<void> {
    const operator = raw(isArchived ? '+' : '-');
    await tx.query(
      sql`UPDATE records
        SET archived_during = archived_during ${operator} int8multirange(int8range(${revision}, NULL)),
            archived_at = ${isArchived ? at : null}, updated_at = ${at}
        WHERE dataset_record_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}`,
    );
  }

  /**
   * Deletes records with all their versions, and counts the datasets again. Locks the datasets first, like all writers.
   * Experiments whose snapshots have one of the records say so. Returns how many were deleted.
   */
  async deleteMany(tx: Tx, workspaceId: string, ids: readonly string[]): Promise<number> {
    const isRecord = sql`dataset_record_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}`;
    await tx.query(
      sql`SELECT FROM datasets WHERE workspace_id = ${workspaceId}
          AND dataset_id = ANY (ARRAY(SELECT dataset_id FROM records WHERE ${isRecord})) ORDER BY dataset_id FOR UPDATE`,
    );
    await tx.query(
      sql`UPDATE experiments e SET records_erased = true, generation = generation + 1
        FROM (SELECT DISTINCT e.experiment_id FROM records r JOIN experiments e USING (workspace_id, dataset_id)
              WHERE r.dataset_record_id = ANY (${ids}::text[]) AND r.workspace_id = ${workspaceId}
                AND NOT e.records_erased AND ${MAY_BE_IN_SNAPSHOT}) affected
        WHERE e.experiment_id = affected.experiment_id AND e.workspace_id = ${workspaceId}`,
    );
    const deleted = await tx.query(
      sql`WITH deleted AS (
          DELETE FROM records WHERE ${isRecord} RETURNING dataset_id, archived_at IS NULL AS is_live
        ), changed AS (
          UPDATE datasets d
          SET record_count = record_count - live_count, revision = revision + 1,
              updated_at = greatest(updated_at, ${new Date()}::timestamptz)
          FROM (SELECT dataset_id, count(*) FILTER (WHERE is_live)::integer AS live_count FROM deleted GROUP BY dataset_id) counted
          WHERE d.dataset_id = counted.dataset_id AND d.workspace_id = ${workspaceId}
        ) SELECT FROM deleted`,
    );
    return deleted.length;
  }

  /** Returns the ids of the records that a release installed and that nobody has changed since. */
  async unchangedSinceInstall(tx: Tx, { workspaceId }: Scope, ids: readonly string[]): Promise<string[]> {
    const rows = await tx.query<{ dataset_record_id: string }>(
      sql`SELECT dataset_record_id FROM records
        WHERE dataset_record_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId} AND acquired_version = version
        ORDER BY dataset_record_id`,
    );
    return rows.map((row) => row.dataset_record_id);
  }
}

/**
 * Whether the snapshot of an experiment `e` may have a record `r` of its dataset: always if the experiment has no filter.
 * Whether a filter selects the record is only known from the snapshot, which may be too large to be read.
 */
export const MAY_BE_IN_SNAPSHOT = raw(
  'e.dataset_version IS NULL AND e.dataset_revision >= r.created_revision AND NOT r.archived_during @> e.dataset_revision',
);

/** Conditions on a record `r` and one of its versions `v`, or on tables of other names. */
export const conditionsOf = (
  { recordIds, tags, label, category }: CaseFilter,
  record = 'r',
  version = 'v',
): Sql[] =>
  [
    recordIds && sql`${raw(record)}.dataset_record_id = ANY (${recordIds}::text[])`,
    tags && sql`${raw(version)}.tags @> ${tags}::text[]`,
    label === undefined ? undefined : sql`${raw(version)}.label = ${label}`,
    category === undefined ? undefined : sql`${raw(version)}.category = ${category}`,
  ].flatMap((condition) => condition ?? []);

/**
 * Selects the records `r` that were live at a revision of their dataset, each with its version `v` at that revision.
 *
 * @param from the records to select from
 */
export const recordsAsOf = (
  { workspaceId }: Scope,
  datasetId: string,
  revision: number,
  from: Sql = sql`records r`,
): Sql =>
  sql`SELECT r.workspace_id, r.dataset_id, r.dataset_record_id, v.*
    FROM ${from}
    CROSS JOIN LATERAL (
      SELECT version, input, expected, metadata, tags, label, category, external_id, bytes FROM record_versions
      WHERE dataset_id = r.dataset_id AND dataset_record_id = r.dataset_record_id AND revision <= ${revision}
      ORDER BY revision DESC LIMIT 1
    ) v
    WHERE r.workspace_id = ${workspaceId} AND r.dataset_id = ${datasetId} AND r.created_revision <= ${revision}
      AND NOT r.archived_during @> ${revision}::bigint`;

/**
 * Returns the statement that reads live records by their external ids, joined with rows of all keys. If the keys were
 * parameters, PostgreSQL would expect no rows for a dataset that its statistics do not know, and scan the whole dataset.
 */
const lookUp = (columns: Sql, { workspaceId }: Scope, datasetId: string, ids: readonly string[]): Sql =>
  sql`SELECT ${columns} FROM (
      SELECT ${workspaceId}::text AS workspace_id, ${datasetId}::text AS dataset_id, external_id
      FROM (SELECT DISTINCT unnest(${ids}::text[]) AS external_id) ids OFFSET 0) keys
    JOIN records USING (workspace_id, dataset_id, external_id)
    WHERE archived_at IS NULL`;
