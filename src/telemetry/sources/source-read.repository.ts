import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { RawJson } from '#platform/json';

/** What was told of where a record comes from. */
export interface SourceParts {
  resource: RawJson;
  scope: RawJson;
}

const BY_IDS = {
  name: 'span-source.by-ids',
  text: `SELECT source_id, resource, scope FROM span_sources
    WHERE workspace_id = $1 AND source_id = ANY($2::uuid[])`,
};

const UNKNOWN: SourceParts = { resource: new RawJson('null'), scope: new RawJson('null') };

/** Reads the sources of records. */
export class SourceReadRepository {
  constructor(private readonly database: SqlExecutor) {}

  /** Puts in place of each row's `source_id` what is told of it. Each source is read once, and the rows share it. */
  async join<Row extends { source_id: string }>(
    scope: Scope,
    rows: readonly Row[],
  ): Promise<(Omit<Row, 'source_id'> & SourceParts)[]> {
    const ids = [...new Set(rows.map(({ source_id }) => source_id))];
    const found = await this.database.query<SourceParts & { source_id: string }>(BY_IDS, [
      scope.workspaceId,
      ids,
    ]);
    const sources = new Map(found.map(({ source_id, ...parts }) => [source_id, parts]));
    return rows.map(({ source_id, ...row }) => ({ ...row, ...(sources.get(source_id) ?? UNKNOWN) }));
  }
}
