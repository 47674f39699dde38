import { Injectable } from '@nestjs/common';
import { BulkColumns, type Tx } from '#platform/db';
import { inChunks } from '../exports/in-chunks';
import { type ModelUsage, MODELS_MAX, type RootView, type TraceAggregate } from './trace-aggregate';
import type { TracePlace } from './trace-place';

const PLACE = 'workspace_id, trace_id, trace_no, day::text AS day';

/** Which trace, and where it is. */
export interface KeyedPlace extends TracePlace {
  workspace_id: string;
  trace_id: string;
}

/** What its session knows of a trace. */
interface InSession {
  session_id: string | null;
  /** Microseconds since 1970. */
  started_us: string;
}

export type LockedTrace = KeyedPlace & InSession;
export type MergedTrace = Omit<KeyedPlace, keyof TracePlace> & InSession;

const inSession = (row: string): string =>
  `${row}.session_id, (extract(epoch FROM ${row}.started_at) * 1000000)::int8::text AS started_us`;

const KEYS = new BulkColumns<Pick<TraceAggregate, 'workspaceId' | 'traceId'>>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'trace_id', type: 'text', value: ({ traceId }) => traceId },
]);

/** Looked up one by one, in the order in which they are given: all writers lock in the order of the keys. */
const LOCK = {
  name: 'trace.lock-many',
  text: `SELECT t.workspace_id, t.trace_id, t.trace_no, t.day::text AS day, ${inSession('t')}
    FROM ${KEYS.from(1, 'given')},
    LATERAL (SELECT * FROM traces t
      WHERE t.workspace_id = given.workspace_id AND t.trace_id = given.trace_id FOR NO KEY UPDATE) t`,
};

const contentSize = ({ input, output }: RootView): number =>
  Buffer.byteLength(input ?? '') + Buffer.byteLength(output ?? '');

const MERGED = new BulkColumns<TraceAggregate>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
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

const MODELS = new BulkColumns<ModelUsage & { workspaceId: string; traceId: string }>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
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

const INSERT_TRACES = `INSERT INTO traces AS t (arrived_at, ${MERGED.names})
    SELECT clock_timestamp(), ${MERGED.names.replace(', models,', ', ARRAY(SELECT json_array_elements_text(models)),')}
    FROM ${MERGED.from(1, 'given')}
    ON CONFLICT (workspace_id, trace_id)`;

/** Of a trace that another transaction is storing it waits for the end of that, and leaves it as it then is. */
const INSERT_NEW = {
  name: 'trace.insert-new',
  text: `${INSERT_TRACES} DO NOTHING RETURNING ${PLACE}`,
};

/** Adds what spans bring to their traces, which are there, and locked. */
const MERGE_TRACES = {
  name: 'trace.merge-many',
  text: `${INSERT_TRACES} DO UPDATE SET
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
      ${ofFirst('service_key', 'service_name')}
    RETURNING t.workspace_id, t.trace_id, ${inSession('t')}`,
};

/** Only whoever holds the lock of a trace's row writes what its models used. */
const MERGE_MODELS = {
  name: 'trace-model.merge-many',
  text: `INSERT INTO trace_models AS t (${MODELS.names})
    SELECT ${MODELS.names} FROM ${MODELS.from(1, 'given')}
    ON CONFLICT (workspace_id, trace_id, model) DO UPDATE SET
      ${USAGE}`,
};

/**
 * Writes what traces consist of but for their spans. Traces are given in the order of their keys; what comes of spans is
 * commutative, see `aggregateTraces`.
 */
@Injectable()
export class TraceWriteRepository {
  /** Locks those of the traces that are there. @returns where they are, and what they are before they change. */
  lock(tx: Tx, traces: readonly TraceAggregate[]): Promise<LockedTrace[]> {
    return inChunks(traces, (chunk) => tx.query<LockedTrace>(LOCK, KEYS.parameters(chunk)));
  }

  /** Stores those of the traces that are not there. @returns where they are, without those that came to be there. */
  insertNew(tx: Tx, traces: readonly TraceAggregate[]): Promise<KeyedPlace[]> {
    return inChunks(traces, (chunk) => tx.query<KeyedPlace>(INSERT_NEW, MERGED.parameters(chunk)));
  }

  /** Adds to traces that are locked. @returns what they are after it. */
  merge(tx: Tx, traces: readonly TraceAggregate[]): Promise<MergedTrace[]> {
    return inChunks(traces, (chunk) => tx.query<MergedTrace>(MERGE_TRACES, MERGED.parameters(chunk)));
  }

  /** Adds to what models used in traces that are locked, or that this transaction has stored. */
  async mergeModels(tx: Tx, traces: readonly TraceAggregate[]): Promise<void> {
    const usage = traces.flatMap(({ workspaceId, traceId, usage: byModel }) =>
      Array.from(byModel.values(), (one) => ({ ...one, workspaceId, traceId })),
    );
    await inChunks(usage, (chunk) => tx.query(MERGE_MODELS, MODELS.parameters(chunk)));
  }
}
