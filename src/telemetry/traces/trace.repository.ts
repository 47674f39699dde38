import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { arrayParameter, BulkColumns, Database, type Tx, Where } from '#platform/db';
import type { KeptIds, SessionRef, TraceRef, TraceRow, TraceSelection, TraceSummary } from '../trace-store';
import type { SpanSource } from './span-record';
import { type ModelUsage, MODELS_MAX, type RootView, type TraceAggregate } from './trace-aggregate';
import { costOfTrace } from './trace-cost';

/** Traces per statement. */
const CHUNK = 1_000;

const contentSize = ({ input, output }: RootView): number =>
  Buffer.byteLength(input ?? '') + Buffer.byteLength(output ?? '');

const MERGED = new BulkColumns<TraceAggregate>([
  { name: 'trace_id', type: 'text', value: ({ traceId }) => traceId },
  { name: 'started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
  { name: 'ended_at', type: 'timestamptz', value: ({ endedAt }) => endedAt },
  { name: 'span_count', type: 'int8', value: ({ spanCount }) => spanCount },
  { name: 'error_count', type: 'int8', value: ({ errorCount }) => errorCount },
  { name: 'input_tokens', type: 'int8', value: ({ calls }) => calls.inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ calls }) => calls.outputTokens },
  { name: 'cost_usd', type: 'float8', value: ({ calls }) => calls.costUsd },
  { name: 'unpriced_count', type: 'int8', value: ({ unpricedCount }) => unpricedCount },
  { name: 'step_input_tokens', type: 'int8', value: ({ steps }) => steps.inputTokens },
  { name: 'step_output_tokens', type: 'int8', value: ({ steps }) => steps.outputTokens },
  { name: 'step_cost_usd', type: 'float8', value: ({ steps }) => steps.costUsd },
  { name: 'step_unpriced_count', type: 'int8', value: ({ unpricedStepCount }) => unpricedStepCount },
  { name: 'root_cost_usd', type: 'float8', value: ({ root }) => root?.value.costUsd ?? null },
  // arrays of different lengths do not fit into one
  { name: 'models', type: 'json', value: ({ models }) => JSON.stringify(models) },
  { name: 'root_key', type: 'text', value: ({ root }) => root?.key ?? null },
  { name: 'root_name', type: 'text', value: ({ root }) => root?.value.name ?? null },
  { name: 'input', type: 'json', value: ({ root }) => root?.value.input ?? null },
  { name: 'output', type: 'json', value: ({ root }) => root?.value.output ?? null },
  { name: 'content_size', type: 'int8', value: ({ root }) => (root ? contentSize(root.value) : 0) },
  { name: 'session_key', type: 'text', value: ({ session }) => session?.key ?? null },
  { name: 'session_id', type: 'text', value: ({ session }) => session?.value ?? null },
  { name: 'service_key', type: 'text', value: ({ service }) => service?.key ?? null },
  { name: 'service_name', type: 'text', value: ({ service }) => service?.value ?? null },
]);

const MODELS = new BulkColumns<ModelUsage & { traceId: string }>([
  { name: 'trace_id', type: 'text', value: ({ traceId }) => traceId },
  { name: 'model', type: 'text', value: ({ model }) => model },
  { name: 'input_tokens', type: 'int8', value: ({ calls }) => calls.inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ calls }) => calls.outputTokens },
  { name: 'cost_usd', type: 'float8', value: ({ calls }) => calls.costUsd },
  { name: 'unpriced_count', type: 'int8', value: ({ unpricedCount }) => unpricedCount },
  { name: 'step_input_tokens', type: 'int8', value: ({ steps }) => steps.inputTokens },
  { name: 'step_output_tokens', type: 'int8', value: ({ steps }) => steps.outputTokens },
  { name: 'step_cost_usd', type: 'float8', value: ({ steps }) => steps.costUsd },
]);

const SOURCES = new BulkColumns<SpanSource>([
  { name: 'source_id', type: 'uuid', value: ({ id }) => id },
  { name: 'resource', type: 'json', value: ({ resource }) => resource },
  { name: 'scope', type: 'json', value: ({ scope }) => scope },
]);

/** A sum of which either side may be absent. */
const plus = (column: string) =>
  `${column} = CASE WHEN excluded.${column} IS NULL THEN t.${column}
    ELSE coalesce(t.${column}, 0) + excluded.${column} END`;

const USAGE = `${plus('input_tokens')}, ${plus('output_tokens')}, ${plus('cost_usd')},
      unpriced_count = t.unpriced_count + excluded.unpriced_count,
      step_input_tokens = greatest(t.step_input_tokens, excluded.step_input_tokens),
      step_output_tokens = greatest(t.step_output_tokens, excluded.step_output_tokens),
      step_cost_usd = greatest(t.step_cost_usd, excluded.step_cost_usd)`;

/** Columns that come from the span with the least key. */
const ofFirst = (key: string, ...columns: string[]) =>
  [
    ...columns.map(
      (column) =>
        `${column} = CASE WHEN t.${key} IS NULL OR excluded.${key} < t.${key} THEN excluded.${column}
          ELSE t.${column} END`,
    ),
    `${key} = least(t.${key}, excluded.${key})`,
  ].join(', ');

/**
 * Adds what spans that were just inserted bring to their traces. Under the lock of a trace's row, so concurrent
 * requests add one after the other; in the order of the trace ids, so that they never wait crosswise.
 */
const MERGE_TRACES = {
  name: 'trace.merge-many',
  text: `INSERT INTO traces AS t (workspace_id, arrived_at, ${MERGED.names})
    SELECT $1, clock_timestamp(), ${MERGED.names.replace(', models,', ', ARRAY(SELECT json_array_elements_text(models)),')}
    FROM ${MERGED.from(2, 'given')}
    ON CONFLICT (workspace_id, trace_id) DO UPDATE SET
      arrived_at = greatest(t.arrived_at, clock_timestamp()),
      started_at = least(t.started_at, excluded.started_at),
      ended_at = greatest(t.ended_at, excluded.ended_at),
      span_count = t.span_count + excluded.span_count,
      error_count = t.error_count + excluded.error_count,
      ${USAGE},
      step_unpriced_count = t.step_unpriced_count + excluded.step_unpriced_count,
      models = CASE WHEN excluded.models <@ t.models THEN t.models ELSE ARRAY(
        SELECT DISTINCT model FROM unnest(t.models || excluded.models) model ORDER BY model LIMIT ${MODELS_MAX}) END,
      ${ofFirst('root_key', 'root_name', 'input', 'output', 'content_size', 'root_cost_usd')},
      ${ofFirst('session_key', 'session_id')},
      ${ofFirst('service_key', 'service_name')}`,
};

/** Only whoever holds the lock of a trace's row writes what its models used. */
const MERGE_MODELS = {
  name: 'trace-model.merge-many',
  text: `INSERT INTO trace_models AS t (workspace_id, ${MODELS.names})
    SELECT $1, ${MODELS.names} FROM ${MODELS.from(2, 'given')}
    ON CONFLICT (workspace_id, trace_id, model) DO UPDATE SET
      ${USAGE}`,
};

const INSERT_SOURCES = {
  name: 'span-source.insert-many',
  text: `INSERT INTO span_sources (workspace_id, ${SOURCES.names})
    SELECT $1, ${SOURCES.names} FROM ${SOURCES.from(2, 'given')}
    ON CONFLICT (workspace_id, source_id) DO NOTHING`,
};

const SUMMARY = `trace_id, root_name, started_at, ended_at,
  greatest(extract(epoch FROM ended_at - started_at) * 1000, 0)::float8 AS duration_ms, span_count, error_count,
  coalesce(input_tokens, step_input_tokens) AS input_tokens,
  coalesce(output_tokens, step_output_tokens) AS output_tokens,
  ${costOfTrace()}::float8 AS cost_usd, models, session_id, service_name`;

const columnsWhere = (fits: string) =>
  `${SUMMARY}, content_size, CASE WHEN ${fits} THEN input END AS input, CASE WHEN ${fits} THEN output END AS output`;

const FIND_MANY = {
  name: 'trace.find-many',
  text: `SELECT ${columnsWhere('content_size <= $3')} FROM traces
    WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const SUMMARIZE = {
  name: 'trace.summarize',
  text: `SELECT ${SUMMARY} FROM traces WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const COUNT = {
  name: 'trace.count',
  text: `SELECT count(*) AS found FROM traces WHERE workspace_id = $1 AND trace_id = ANY($2::text[])`,
};

const OF_SESSION = {
  name: 'trace.of-session',
  text: `SELECT ${columnsWhere('contents <= $4')}
    FROM (
      SELECT *, sum(content_size) OVER (ORDER BY started_at, trace_id ROWS UNBOUNDED PRECEDING) AS contents
      FROM traces WHERE workspace_id = $1 AND session_id = $2 ORDER BY started_at, trace_id LIMIT $3
    ) first ORDER BY started_at, trace_id`,
};

@Injectable()
export class TraceRepository {
  constructor(private readonly database: Database) {}

  /** Adds to traces, sorted by their ids, and to what their models used, what spans that were just inserted bring. */
  async merge(tx: Tx, scope: Scope, aggregates: readonly TraceAggregate[]): Promise<void> {
    for (let start = 0; start < aggregates.length; start += CHUNK) {
      const chunk = aggregates.slice(start, start + CHUNK);
      await tx.query(MERGE_TRACES, [scope.workspaceId, ...MERGED.parameters(chunk)]);
    }
    const usage = aggregates.flatMap(({ traceId, usage: byModel }) =>
      Array.from(byModel.values(), (one) => ({ ...one, traceId })),
    );
    for (let start = 0; start < usage.length; start += CHUNK) {
      const chunk = usage.slice(start, start + CHUNK);
      await tx.query(MERGE_MODELS, [scope.workspaceId, ...MODELS.parameters(chunk)]);
    }
  }

  /** Stores what spans share, where it is not there yet. */
  async insertSources(tx: Tx, scope: Scope, sources: readonly SpanSource[]): Promise<void> {
    for (let start = 0; start < sources.length; start += CHUNK) {
      const chunk = sources.slice(start, start + CHUNK);
      await tx.query(INSERT_SOURCES, [scope.workspaceId, ...SOURCES.parameters(chunk)]);
    }
  }

  /** Content of more than `maxBytes` is not read. */
  findMany(scope: Scope, traceIds: readonly string[], maxBytes: number): Promise<TraceRow[]> {
    return this.database.query<TraceRow>(FIND_MANY, [scope.workspaceId, traceIds, maxBytes]);
  }

  summarize(scope: Scope, traceIds: readonly string[]): Promise<TraceSummary[]> {
    return this.database.query<TraceSummary>(SUMMARIZE, [scope.workspaceId, traceIds]);
  }

  async count(scope: Scope, traceIds: readonly string[]): Promise<number> {
    const ids = arrayParameter('text', traceIds); // there may be 100,000
    const [row] = await this.database.query<{ found: number }>(COUNT, [scope.workspaceId, ids]);
    return row?.found ?? 0;
  }

  refs(scope: Scope, selection: TraceSelection, limit: number): Promise<TraceRef[]> {
    const where = selected(scope, selection, 'trace_id');
    return this.database.query<TraceRef>(
      `SELECT trace_id, session_id, started_at FROM traces WHERE ${where.toString()}
       ORDER BY started_at DESC, trace_id DESC LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  sessionRefs(scope: Scope, selection: TraceSelection, limit: number): Promise<SessionRef[]> {
    const where = selected(scope, selection, 'session_id').add('session_id IS NOT NULL');
    return this.database.query<SessionRef>(
      `SELECT session_id, max(started_at) AS last_started_at FROM traces WHERE ${where.toString()}
       GROUP BY session_id ORDER BY max(started_at) DESC, session_id DESC LIMIT ${where.parameter(limit)}`,
      where.values,
    );
  }

  async countSelected(
    scope: Scope,
    selection: TraceSelection,
    of: 'trace_id' | 'session_id',
  ): Promise<number> {
    const where = selected(scope, selection, of);
    const counted = of === 'trace_id' ? '*' : 'DISTINCT session_id';
    const [row] = await this.database.query<{ found: number }>(
      `SELECT count(${counted}) AS found FROM traces WHERE ${where.toString()}`,
      where.values,
    );
    return row?.found ?? 0;
  }

  /** Content is read from the first trace on, as long as it comes to no more than `maxBytes`. */
  ofSession(scope: Scope, sessionId: string, limit: number, maxBytes: number): Promise<TraceRow[]> {
    return this.database.query<TraceRow>(OF_SESSION, [scope.workspaceId, sessionId, limit, maxBytes]);
  }
}

function selected(scope: Scope, selection: TraceSelection, id: 'trace_id' | 'session_id'): Where {
  const { trace_ids, session_ids, since, until, among, except = [] } = selection;
  const where = Where.estimatedByAverage(scope.key)
    .addIf(trace_ids, 'trace_id = ANY(?::text[])')
    .addIf(session_ids, 'session_id = ANY(?::text[])')
    .addIf(since, 'started_at >= ?')
    .addIf(until, 'started_at < ?');
  const isIn = ({ select }: KeptIds) =>
    `EXISTS (SELECT 1 FROM (${select}) kept(id) WHERE kept.id = traces.${id})`;
  if (among) where.add(isIn(among), ...among.values);
  // anti-joins, which stop with the last row that is asked for
  for (const ids of except) where.add(`NOT ${isIn(ids)}`, ...ids.values);
  return where;
}
