import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, firstRow, raw, sql, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import { BY_CREATION, type ListQueryDto, listPage, type ListSpec, type RowPage } from '#platform/paging';

/** Labels of traces, from the results that reference them. */
export const TRACE_LABELS = ['case_id', 'tag'] as const;
type TraceLabel = (typeof TRACE_LABELS)[number];

const LABEL_COLUMNS: Record<TraceLabel, string> = {
  case_id: ', ARRAY[case_id] AS case_id',
  tag: ', tags AS tag',
};

/** A result that references a trace. */
export interface TraceReference {
  experiment_id: string;
  result_id: string;
  case_id: string;
  trace_id: string;
}

/** The number of an experiment's results, and the number of those that reference a trace. */
export interface TraceCoverage {
  results: number;
  with_trace: number;
}

const COLUMNS = 'r.experiment_id, r.result_id, r.case_id, r.trace_id';

/** Finds the traces that the results of experiments reference. */
@Injectable()
export class ExperimentTraceRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns a page of the results that reference traces, newest first. If several results reference one trace, only the
   * newest is returned. `OFFSET 0` forces a lookup of each, because a join would take quadratic time in a workspace that
   * the statistics do not know.
   */
  list(
    scope: Scope,
    experimentId: string,
    query: ListQueryDto,
    existing: Required<Pick<ListSpec<TraceReference>, 'keep' | 'count'>>,
  ): Promise<RowPage<TraceReference>> {
    const where = new Where(scope.key, 'r').add(sql`r.experiment_id = ${experimentId}`)
      .add(sql`r.trace_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM (
          SELECT experiment_id FROM results
          WHERE workspace_id = r.workspace_id AND trace_id = r.trace_id AND result_id > r.result_id OFFSET 0
        ) newer WHERE newer.experiment_id = r.experiment_id)`);
    return listPage<TraceReference>(
      this.database,
      {
        columns: COLUMNS,
        from: 'results r',
        where,
        id: 'r.result_id',
        createdAt: 'r.created_at',
        sorts: BY_CREATION,
        ...existing,
      },
      query,
    );
  }

  /** Returns the ids of the traces that an experiment's results reference, in no particular order. */
  async traceIds({ workspaceId }: Scope, experimentId: string, limit: number): Promise<string[]> {
    // Aggregated into one value, because reading 10,000 rows takes longer than finding them.
    const row = await firstRow<{ ids: string | null }>(
      this.database,
      'experiment-trace.trace-ids',
      sql`SELECT string_agg(trace_id, ',') AS ids FROM (
          SELECT DISTINCT trace_id FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId} AND trace_id IS NOT NULL
          LIMIT ${limit}) referenced`,
    );
    return row?.ids ? row.ids.split(',') : [];
  }

  /**
   * Returns the traces that an experiment's results reference, with these labels, as a JSON list of
   * `{"trace_id", "case_id": [], "tag": []}`. Labels are those of the newest result that references the trace.
   */
  async readLabels(scope: Scope, experimentId: string, labels: readonly TraceLabel[]): Promise<RawJson> {
    const columns = raw(labels.map((label) => LABEL_COLUMNS[label]).join(''));
    const [row] = await this.database.query<{ traces: RawJson }>(
      sql`SELECT coalesce(json_agg(n), '[]') AS traces FROM (
          SELECT DISTINCT ON (trace_id) trace_id${columns} FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${scope.workspaceId} AND trace_id IS NOT NULL
          ORDER BY trace_id, result_id DESC
        ) n`,
    );
    return row!.traces;
  }

  async coverage({ workspaceId }: Scope, experimentId: string): Promise<TraceCoverage> {
    const row = await firstRow<TraceCoverage>(
      this.database,
      'experiment-trace.coverage',
      sql`SELECT count(*) AS results, count(trace_id) AS with_trace FROM results
        WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}`,
    );
    return row!;
  }

  /** Returns the newest result that references a trace: of this experiment if it has one, else of any other. */
  async find({ workspaceId }: Scope, experimentId: string, traceId: string): Promise<TraceReference | null> {
    return firstRow<TraceReference>(
      this.database,
      'experiment-trace.find',
      sql`SELECT ${raw(COLUMNS)} FROM results r
        WHERE r.workspace_id = ${workspaceId} AND r.trace_id = ${traceId}
        ORDER BY r.experiment_id = ${experimentId} DESC, r.result_id DESC LIMIT 1`,
    );
  }
}
