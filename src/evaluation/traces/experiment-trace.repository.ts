import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, Where } from '#platform/db';
import { BY_CREATION, type ListQueryDto, listPage, type ListSpec, type RowPage } from '#platform/paging';
import type { LabelledTraces } from '../../telemetry';

/** What results say of the traces that they name, beside what the traces themselves tell. */
export const TRACE_LABELS = ['case_id', 'tag'] as const;

/** That a result carries the id of a trace. */
export interface TraceNaming {
  experiment_id: string;
  result_id: string;
  case_id: string;
  trace_id: string;
}

const COLUMNS = 'r.experiment_id, r.result_id, r.case_id, r.trace_id';

/**
 * Where several results of an experiment carry one id, the newest stands for the trace, so that it is listed once. Looked
 * up for each (`OFFSET 0`): a join would take the square of them in a workspace that the statistics do not know.
 */
const NEWEST_OF_TRACE = `r.trace_id IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM results newer WHERE newer.workspace_id = r.workspace_id AND newer.trace_id = r.trace_id
    AND newer.experiment_id = r.experiment_id AND newer.result_id > r.result_id OFFSET 0)`;

/** One value instead of a row for each: reading 10,000 rows takes longer than finding them. */
const NAMED_IDS = {
  name: 'experiment-trace.named-ids',
  text: `SELECT string_agg(trace_id, ',') AS ids FROM (
      SELECT DISTINCT trace_id FROM results
      WHERE experiment_id = $1 AND workspace_id = $2 AND trace_id IS NOT NULL LIMIT $3) named`,
};

/** Results of an experiment, and those that name a trace. */
export interface TraceCoverage {
  results: number;
  with_trace: number;
}

const COVERAGE = {
  name: 'experiment-trace.coverage',
  text: `SELECT count(*) AS results, count(trace_id) AS with_trace FROM results
    WHERE experiment_id = $1 AND workspace_id = $2`,
};

const NAMING = {
  name: 'experiment-trace.naming',
  text: `SELECT ${COLUMNS} FROM results r WHERE r.workspace_id = $1 AND r.trace_id = $2
    ORDER BY r.experiment_id = $3 DESC, r.result_id DESC LIMIT 1`,
};

/** Which traces belong to which experiment: what results say of it. */
@Injectable()
export class ExperimentTraceRepository {
  constructor(private readonly database: Database) {}

  /** A page of the traces that an experiment's results name, by those results, newest first. */
  list(
    scope: Scope,
    experimentId: string,
    query: ListQueryDto,
    existing: Required<Pick<ListSpec<TraceNaming>, 'keep' | 'count'>>,
  ): Promise<RowPage<TraceNaming>> {
    const where = new Where(scope.key, 'r').add('r.experiment_id = ?', experimentId).add(NEWEST_OF_TRACE);
    return listPage<TraceNaming>(
      this.database,
      { columns: COLUMNS, from: 'results r', where, id: 'r.result_id', sorts: BY_CREATION, ...existing },
      query,
    );
  }

  /** The ids of the traces that an experiment's results name, in no particular order, at most `limit` of them. */
  async namedIds(scope: Scope, experimentId: string, limit: number): Promise<string[]> {
    const [row] = await this.database.query<{ ids: string | null }>(NAMED_IDS, [
      experimentId,
      scope.workspaceId,
      limit,
    ]);
    return row?.ids ? row.ids.split(',') : [];
  }

  /** The traces that an experiment's results name, labelled by the newest result that names each. */
  labelled(scope: Scope, experimentId: string): LabelledTraces {
    const select = `SELECT DISTINCT ON (trace_id) trace_id, ARRAY[case_id] AS case_id, tags AS tag FROM results
      WHERE experiment_id = ? AND workspace_id = ? AND trace_id IS NOT NULL ORDER BY trace_id, result_id DESC`;
    return { select, values: [experimentId, scope.workspaceId], labels: TRACE_LABELS };
  }

  async coverage(scope: Scope, experimentId: string): Promise<TraceCoverage> {
    const [row] = await this.database.query<TraceCoverage>(COVERAGE, [experimentId, scope.workspaceId]);
    return row!;
  }

  /** The newest result that carries a trace's id: of this experiment if it has one, else of any other. */
  async naming(scope: Scope, experimentId: string, traceId: string): Promise<TraceNaming | null> {
    const [row] = await this.database.query<TraceNaming>(NAMING, [scope.workspaceId, traceId, experimentId]);
    return row ?? null;
  }
}
