import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import { BY_CREATION, type ListQueryDto, listPage, type ListSpec, type RowPage } from '#platform/paging';

/** Labels of traces, from the results that name them. */
export const TRACE_LABELS = ['case_id', 'tag'] as const;
type TraceLabel = (typeof TRACE_LABELS)[number];

const LABEL_COLUMNS: Record<TraceLabel, string> = {
  case_id: ', ARRAY[case_id] AS case_id',
  tag: ', tags AS tag',
};

/** A result that names a trace. */
export interface TraceNaming {
  experiment_id: string;
  result_id: string;
  case_id: string;
  trace_id: string;
}

/** Results of an experiment, and those that name a trace. */
export interface TraceCoverage {
  results: number;
  with_trace: number;
}

const COLUMNS = 'r.experiment_id, r.result_id, r.case_id, r.trace_id';

/** Finds the traces of experiments: those that their results name. */
@Injectable()
export class ExperimentTraceRepository {
  constructor(private readonly database: Database) {}

  /**
   * A page of the traces that an experiment's results name, by those results, newest first. If several results name one
   * trace, the newest stands for it. `OFFSET 0` has these looked up: a join would take the square of them in a workspace
   * that the statistics do not know.
   */
  list(
    scope: Scope,
    experimentId: string,
    query: ListQueryDto,
    existing: Required<Pick<ListSpec<TraceNaming>, 'keep' | 'count'>>,
  ): Promise<RowPage<TraceNaming>> {
    const where = new Where(scope.key, 'r').add(sql`r.experiment_id = ${experimentId}`)
      .add(sql`r.trace_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM results newer WHERE newer.workspace_id = r.workspace_id AND newer.trace_id = r.trace_id
          AND newer.experiment_id = r.experiment_id AND newer.result_id > r.result_id OFFSET 0)`);
    return listPage<TraceNaming>(
      this.database,
      { columns: COLUMNS, from: 'results r', where, id: 'r.result_id', sorts: BY_CREATION, ...existing },
      query,
    );
  }

  /** The ids of the traces that an experiment's results name, in no particular order. */
  async namedIds({ workspaceId }: Scope, experimentId: string, limit: number): Promise<string[]> {
    // one value, because reading 10,000 rows takes longer than finding them
    const [row] = await this.database.query<{ ids: string | null }>(
      prepared(
        'experiment-trace.named-ids',
        sql`SELECT string_agg(trace_id, ',') AS ids FROM (
            SELECT DISTINCT trace_id FROM results
            WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId} AND trace_id IS NOT NULL
            LIMIT ${limit}) named`,
      ),
    );
    return row?.ids ? row.ids.split(',') : [];
  }

  /**
   * Reads the traces that an experiment's results name, with these labels, as a JSON list of
   * `{"trace_id", "case_id": [], "tag": []}`. Labels are those of the newest result that names the trace.
   */
  async labelled(scope: Scope, experimentId: string, labels: readonly TraceLabel[]): Promise<RawJson> {
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
    const [row] = await this.database.query<TraceCoverage>(
      prepared(
        'experiment-trace.coverage',
        sql`SELECT count(*) AS results, count(trace_id) AS with_trace FROM results
          WHERE experiment_id = ${experimentId} AND workspace_id = ${workspaceId}`,
      ),
    );
    return row!;
  }

  /** The newest result that names a trace: of this experiment if it has one, else of any other. */
  async naming({ workspaceId }: Scope, experimentId: string, traceId: string): Promise<TraceNaming | null> {
    const [row] = await this.database.query<TraceNaming>(
      prepared(
        'experiment-trace.naming',
        sql`SELECT ${raw(COLUMNS)} FROM results r
          WHERE r.workspace_id = ${workspaceId} AND r.trace_id = ${traceId}
          ORDER BY r.experiment_id = ${experimentId} DESC, r.result_id DESC LIMIT 1`,
      ),
    );
    return row ?? null;
  }
}
