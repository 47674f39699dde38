import type { Scope } from '#platform/auth';
import { prepared, sql, type SqlExecutor } from '#platform/db';
import { RawJson } from '#platform/json';

/** The source of a record. */
export interface SourceParts {
  resource: RawJson;
  scope: RawJson;
}

/** The source of a record whose source was erased, because it named a user. */
const ERASED: SourceParts = {
  resource: new RawJson(JSON.stringify({ attributes: {}, dropped_attributes_count: 0, schema_url: '' })),
  scope: new RawJson(
    JSON.stringify({ name: '', version: '', attributes: {}, dropped_attributes_count: 0, schema_url: '' }),
  ),
};

/** Reads the sources of records. */
export class SourceReadRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** Replaces the `source_id` of each row with its source. Reads each source once; rows with the same source share it. */
  async join<Row extends { source_id: string }>(
    scope: Scope,
    rows: readonly Row[],
  ): Promise<(Omit<Row, 'source_id'> & SourceParts)[]> {
    const ids = [...new Set(rows.map(({ source_id }) => source_id))];
    const stored = await this.database.query<SourceParts & { source_id: string }>(
      prepared(
        'span-source.by-ids',
        sql`SELECT source_id, resource, scope FROM span_sources
          WHERE workspace_id = ${scope.workspaceId} AND source_id = ANY(${ids}::uuid[])`,
      ),
    );
    const sources = new Map(stored.map(({ source_id, ...parts }) => [source_id, parts]));
    return rows.map(({ source_id, ...row }) => ({ ...row, ...(sources.get(source_id) ?? ERASED) }));
  }
}
