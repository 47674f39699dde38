import { sumOfKnown } from './trace-columns.sql';
import { CALL_OPERATIONS, STEP_OPERATIONS } from './span-record';

// SQL about the spans of a trace: which are model calls, and which usage counts. `UsageWriter` stores what is reported below.

const listOf = (names: ReadonlySet<string>): string => `'{${[...names].join(',')}}'`;

/** Whether a span is a model call, as `isModelCall` tells. @param s alias of the span */
const isCall = (s: string): string =>
  `(CASE WHEN lower(${s}.operation) = ANY (${listOf(STEP_OPERATIONS)}::text[]) THEN false
     ELSE ${s}.model IS NOT NULL OR coalesce(lower(${s}.operation) = ANY (${listOf(CALL_OPERATIONS)}::text[]), false) END)`;

const FLAGS = 'coalesce(s.usage_flags, 0)';

/**
 * Whether the usage of a span `s` may count. While a parent is missing, a step may repeat the calls below it, so it counts only if
 * no call of the trace has any.
 */
const mayCount = (noCalls: string): string => `(f.gap_count = 0 OR ${noCalls} OR ${isCall('s')})`;

const INPUT_COUNTS = `${mayCount('f.calls_input_tokens IS NULL')} AND ${FLAGS} & 1 = 0`;
const OUTPUT_COUNTS = `${mayCount('f.calls_output_tokens IS NULL')} AND ${FLAGS} & 2 = 0`;
const COST_COUNTS = `${mayCount('f.has_no_calls')} AND ${FLAGS} & 4 = 0
  AND CASE WHEN ${FLAGS} & 8 = 0 THEN coalesce(s.estimated_steps, 0) = 0 ELSE ${FLAGS} & 3 = 0 END`;

const inputOf = (column: string): string => `CASE WHEN ${INPUT_COUNTS} THEN s.${column} END`;
const outputOf = (column: string): string => `CASE WHEN ${OUTPUT_COUNTS} THEN s.${column} END`;

/** Measures of a span `s` of a trace `f`. Tokens and cost are those that count, so that their sums are those of the traces. */
export const SPAN_MEASURES = {
  duration_ms: 'greatest(extract(epoch FROM s.ended_at - s.started_at) * 1000, 0)',
  time_to_first_token_ms: 's.time_to_first_token_ms::numeric',
  input_tokens: inputOf('input_tokens'),
  cached_input_tokens: inputOf('cached_input_tokens'),
  cache_write_tokens: inputOf('cache_write_tokens'),
  output_tokens: outputOf('output_tokens'),
  reasoning_tokens: outputOf('reasoning_tokens'),
  total_tokens: sumOfKnown(`(${inputOf('input_tokens')})`, `(${outputOf('output_tokens')})`),
  cost_usd: `CASE WHEN ${COST_COUNTS} THEN s.cost_usd::numeric END`,
  span_count: '1',
  error_count: `(s.status_code = 'error')::integer`,
} as const;

const HAS_NO_USAGE = 'num_nonnulls(s.input_tokens, s.output_tokens, s.cost_usd) = 0';

/** Whether a model call is directly below a span, or with one span between. Looked up only for calls without usage. */
const HAS_CALL_BELOW = `s.span_id IN (
    SELECT unnest(ARRAY[c.parent_span_id, p.parent_span_id]) FROM spans c LEFT JOIN spans p
      ON p.workspace_id = c.workspace_id AND p.day = c.day AND p.trace_no = c.trace_no AND p.span_id = c.parent_span_id
    WHERE c.workspace_id = f.workspace_id AND c.day = f.day AND c.trace_no = f.trace_no AND c.parent_span_id IS NOT NULL
      AND ${isCall('c')})`;

/** Whether the span has usage that counts. */
export const HAS_COUNTED_USAGE = `(${INPUT_COUNTS} AND s.input_tokens > 0 OR ${OUTPUT_COUNTS} AND s.output_tokens > 0
  OR ${COST_COUNTS} AND s.cost_usd > 0)`;

/**
 * Whether a span is one of its model's. A model call counts unless it contains another one. Another span counts if its usage
 * counts, because no call below it reports any. An agent's span does not count, because it also waits for tools.
 */
export const IS_OF_MODEL = `(CASE WHEN ${isCall('s')}
    THEN ${FLAGS} & 7 = 0 AND (NOT ${HAS_NO_USAGE} OR (NOT ${HAS_CALL_BELOW}) IS NOT FALSE)
    ELSE ${HAS_COUNTED_USAGE} END)`;
