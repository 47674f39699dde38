import { Injectable } from '@nestjs/common';
import {
  type BulkColumn,
  BulkColumns,
  inChunks,
  prepared,
  raw,
  type Sql,
  sql,
  timeToMicroseconds,
  type Tx,
} from '#platform/db';
import { TAGS_MAX } from '../span-mapping/field.parser';
import type { RootView } from './span-record';
import { type ModelUsage, MODELS_MAX, type TraceAggregate, type UsageLevels } from './trace-aggregate';
import type { TraceLocation } from './trace.types';

/** The key and the location of a trace. */
export interface KeyedLocation extends TraceLocation {
  workspace_id: string;
  trace_id: string;
}

/** The columns of a trace that its session depends on. */
interface SessionColumns {
  session_id: string | null;
  /** Microseconds since 1970. */
  started_us: string;
}

export type LockedTrace = KeyedLocation & SessionColumns & { gap_count: number; user_id: string | null };
export type MergedTrace = Omit<KeyedLocation, keyof TraceLocation> & SessionColumns;

const SESSION_COLUMNS = sql`t.session_id, ${timeToMicroseconds(raw('t.started_at'))}::text AS started_us`;

type TraceKey = Pick<TraceAggregate, 'workspaceId' | 'traceId'>;

const KEY_COLUMNS: BulkColumn<TraceKey>[] = [
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'trace_id', type: 'text', value: ({ traceId }) => traceId },
];

/** The columns that `traces` and `trace_models` share. */
const USAGE_COLUMNS: BulkColumn<UsageLevels>[] = [
  { name: 'input_tokens', type: 'int8', value: ({ calls }) => calls.inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ calls }) => calls.outputTokens },
  { name: 'cost_usd', type: 'float8', value: ({ calls }) => calls.costUsd },
  { name: 'unpriced_count', type: 'int8', value: ({ unpricedCount }) => unpricedCount },
  { name: 'step_input_tokens', type: 'int8', value: ({ steps }) => steps.inputTokens },
  { name: 'step_output_tokens', type: 'int8', value: ({ steps }) => steps.outputTokens },
  { name: 'step_cost_usd', type: 'float8', value: ({ steps }) => steps.costUsd },
];

const KEYS = new BulkColumns<TraceKey>(KEY_COLUMNS);

const contentSize = ({ input, output }: RootView): number =>
  Buffer.byteLength(input ?? '') + Buffer.byteLength(output ?? '');

const TRACES = new BulkColumns<TraceAggregate>([
  ...KEY_COLUMNS,
  { name: 'started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
  { name: 'ended_at', type: 'timestamptz', value: ({ endedAt }) => endedAt },
  { name: 'span_count', type: 'int8', value: ({ spanCount }) => spanCount },
  { name: 'error_count', type: 'int8', value: ({ errorCount }) => errorCount },
  { name: 'masked_count', type: 'int8', value: ({ maskedCount }) => maskedCount },
  ...USAGE_COLUMNS,
  { name: 'step_unpriced_count', type: 'int8', value: ({ unpricedStepCount }) => unpricedStepCount },
  { name: 'gap_count', type: 'int8', value: ({ gapCount }) => gapCount },
  { name: 'root_cost_usd', type: 'float8', value: ({ root }) => root?.value.costUsd ?? null },
  // JSON, because one array parameter cannot hold arrays of different lengths
  { name: 'models', type: 'json', value: ({ models }) => JSON.stringify(models) },
  { name: 'root_key', type: 'text', value: ({ root }) => root?.key ?? null },
  { name: 'root_name', type: 'text', value: ({ root }) => root?.value.name ?? null },
  { name: 'input', type: 'json', value: ({ root }) => root?.value.input ?? null },
  { name: 'output', type: 'json', value: ({ root }) => root?.value.output ?? null },
  { name: 'input_preview', type: 'text', value: ({ root }) => root?.value.inputPreview ?? null },
  { name: 'output_preview', type: 'text', value: ({ root }) => root?.value.outputPreview ?? null },
  { name: 'content_size', type: 'int8', value: ({ root }) => (root ? contentSize(root.value) : 0) },
  { name: 'session_key', type: 'text', value: ({ session }) => session?.key ?? null },
  { name: 'session_id', type: 'text', value: ({ session }) => session?.value ?? null },
  { name: 'service_key', type: 'text', value: ({ service }) => service?.key ?? null },
  { name: 'service_name', type: 'text', value: ({ service }) => service?.value ?? null },
  { name: 'version_key', type: 'text', value: ({ agentVersion }) => agentVersion?.key ?? null },
  { name: 'agent_version', type: 'text', value: ({ agentVersion }) => agentVersion?.value ?? null },
  { name: 'user_key', type: 'text', value: ({ user }) => user?.key ?? null },
  { name: 'user_id', type: 'text', value: ({ user }) => user?.value ?? null },
  { name: 'environment_key', type: 'text', value: ({ environment }) => environment?.key ?? null },
  { name: 'environment', type: 'text', value: ({ environment }) => environment?.value ?? null },
  { name: 'prompt_key', type: 'text', value: ({ prompt }) => prompt?.key ?? null },
  { name: 'prompt_name', type: 'text', value: ({ prompt }) => prompt?.value.name ?? null },
  { name: 'prompt_version', type: 'text', value: ({ prompt }) => prompt?.value.version ?? null },
  { name: 'tags', type: 'json', value: ({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags)) },
]);

const MODELS = new BulkColumns<ModelUsage & TraceKey>([
  ...KEY_COLUMNS,
  { name: 'model', type: 'text', value: ({ model }) => model },
  ...USAGE_COLUMNS,
]);

/**
 * Returns an assignment that adds to a column, which may be null. A sum becomes null again if nothing is left of it; the order
 * of additions may leave a rounding error.
 */
const added = (column: string) =>
  `${column} = CASE WHEN excluded.${column} IS NULL THEN t.${column}
    WHEN excluded.${column} < 0 AND abs(t.${column} + excluded.${column}) < 1e-12 THEN NULL
    ELSE coalesce(t.${column}, 0) + excluded.${column} END`;

const MERGED_USAGE = raw(`${added('input_tokens')}, ${added('output_tokens')}, ${added('cost_usd')},
      unpriced_count = t.unpriced_count + excluded.unpriced_count,
      ${added('step_input_tokens')}, ${added('step_output_tokens')}, ${added('step_cost_usd')}`);

/** Returns assignments that take the columns from the span with the smaller key. */
const fromFirst = (key: string, ...columns: string[]) =>
  raw(
    [
      ...columns.map(
        (column) =>
          `${column} = CASE WHEN t.${key} IS NULL OR excluded.${key} < t.${key} THEN excluded.${column}
          ELSE t.${column} END`,
      ),
      `${key} = least(t.${key}, excluded.${key})`,
    ].join(', '),
  );

/** The columns of traces, with `models` and `tags` converted from JSON to arrays. */
const SELECTED = raw(
  TRACES.names
    .replace(', models,', ', ARRAY(SELECT json_array_elements_text(models)),')
    .replace(
      ', tags',
      `, CASE WHEN tags IS NULL THEN '{}' ELSE ARRAY(SELECT json_array_elements_text(tags)) END`,
    ),
);

const insertTraces = (traces: readonly TraceAggregate[]): Sql =>
  sql`INSERT INTO traces AS t (arrived_at, ${TRACES.columnList})
    SELECT clock_timestamp(), ${SELECTED} FROM ${TRACES.table(traces, 'new_trace')}
    ON CONFLICT (workspace_id, trace_id)`;

/** Returns an assignment that adds names to a sorted array, and keeps the first. */
const union = (column: string, limit: number) =>
  raw(`${column} = CASE WHEN excluded.${column} <@ t.${column} THEN t.${column} ELSE ARRAY(
    SELECT DISTINCT name FROM unnest(t.${column} || excluded.${column}) name ORDER BY name LIMIT ${limit}) END`);

/**
 * Writes the rows of traces. Every method takes traces in the order of their keys. Merging spans is commutative, see
 * `TraceAggregate`.
 */
@Injectable()
export class TraceWriteRepository {
  /** Locks the existing traces one by one, in the order that all writers use. @returns the locked traces */
  lock(tx: Tx, traces: readonly TraceAggregate[]): Promise<LockedTrace[]> {
    return inChunks(traces, (chunk) =>
      tx.query<LockedTrace>(
        prepared(
          'trace.lock-many',
          sql`SELECT t.workspace_id, t.trace_id, t.trace_no, t.day::text AS day, t.gap_count, t.user_id, ${SESSION_COLUMNS}
            FROM ${KEYS.table(chunk, 'keys')},
            LATERAL (SELECT * FROM traces t
              WHERE t.workspace_id = keys.workspace_id AND t.trace_id = keys.trace_id FOR NO KEY UPDATE) t`,
        ),
      ),
    );
  }

  /**
   * Inserts the missing traces. If another transaction is inserting one of them, waits for that transaction and leaves the trace
   * unchanged. @returns the inserted traces
   */
  insertNew(tx: Tx, traces: readonly TraceAggregate[]): Promise<KeyedLocation[]> {
    return inChunks(traces, (chunk) =>
      tx.query<KeyedLocation>(
        prepared(
          'trace.insert-new',
          sql`${insertTraces(chunk)} DO NOTHING RETURNING workspace_id, trace_id, trace_no, day::text AS day`,
        ),
      ),
    );
  }

  /** Merges into locked traces. @returns their new state */
  merge(tx: Tx, traces: readonly TraceAggregate[]): Promise<MergedTrace[]> {
    return inChunks(traces, (chunk) =>
      tx.query<MergedTrace>(
        prepared(
          'trace.merge-many',
          sql`${insertTraces(chunk)} DO UPDATE SET
              arrived_at = greatest(t.arrived_at, clock_timestamp()),
              started_at = least(t.started_at, excluded.started_at),
              ended_at = greatest(t.ended_at, excluded.ended_at),
              span_count = t.span_count + excluded.span_count,
              error_count = t.error_count + excluded.error_count,
              masked_count = t.masked_count + excluded.masked_count,
              ${MERGED_USAGE},
              step_unpriced_count = t.step_unpriced_count + excluded.step_unpriced_count,
              gap_count = t.gap_count + excluded.gap_count,
              ${union('models', MODELS_MAX)}, ${union('tags', TAGS_MAX)},
              ${fromFirst('root_key', 'root_name', 'input', 'output', 'input_preview', 'output_preview', 'content_size', 'root_cost_usd')},
              ${fromFirst('session_key', 'session_id')},
              ${fromFirst('service_key', 'service_name')},
              ${fromFirst('version_key', 'agent_version')},
              ${fromFirst('user_key', 'user_id')},
              ${fromFirst('environment_key', 'environment')},
              ${fromFirst('prompt_key', 'prompt_name', 'prompt_version')}
            RETURNING t.workspace_id, t.trace_id, ${SESSION_COLUMNS}`,
        ),
      ),
    );
  }

  /** Merges the usage of models into traces that this transaction has locked or inserted. */
  async mergeModels(tx: Tx, traces: readonly TraceAggregate[]): Promise<void> {
    const usage = traces.flatMap(({ workspaceId, traceId, usage: byModel }) =>
      Array.from(byModel.values(), (one) => ({ ...one, workspaceId, traceId })),
    );
    await inChunks(usage, (chunk) =>
      tx.query(
        prepared(
          'trace-model.merge-many',
          sql`INSERT INTO trace_models AS t (${MODELS.columnList})
            SELECT ${MODELS.columnList} FROM ${MODELS.table(chunk, 'usage')}
            ON CONFLICT (workspace_id, trace_id, model) DO UPDATE SET ${MERGED_USAGE}`,
        ),
      ),
    );
  }
}
