import { raw, type Sql } from '#platform/db';

/**
 * The cost of the calls of a row, in US dollars. Null where a call used tokens without a price, because the sum over the
 * others would pass for the whole.
 *
 * @param row prefix of the columns of `traces` or `trace_models`, such as `t.`
 */
export const costOfCalls = (row: string): string =>
  `CASE WHEN ${row}unpriced_count = 0 THEN ${row}cost_usd END`;

/**
 * The cost of a trace: its calls; else the cost that its root reports, if that is no less than the priced calls. Where no
 * call reports usage, it is the most expensive step, if all steps have a price.
 */
const costOf = (row: string): string =>
  `coalesce(${costOfCalls(row)}, CASE
     WHEN num_nonnulls(${row}input_tokens, ${row}output_tokens, ${row}cost_usd) = 0
       THEN CASE WHEN ${row}step_unpriced_count = 0 THEN ${row}step_cost_usd END
     WHEN ${row}root_cost_usd >= coalesce(${row}cost_usd, 0) THEN ${row}root_cost_usd END)`;

const inputTokens = (row: string): string => `coalesce(${row}input_tokens, ${row}step_input_tokens)`;
const outputTokens = (row: string): string => `coalesce(${row}output_tokens, ${row}step_output_tokens)`;

/** The sum of two figures, or the one that is known. */
export const sumOfKnown = (one: string, other: string): string =>
  `CASE WHEN num_nonnulls(${one}, ${other}) > 0 THEN coalesce(${one}, 0) + coalesce(${other}, 0) END`;

/** Expressions over a trace `t`. They are exact: only results become doubles, so that sums do not depend on the order. */
export const FIGURES = {
  duration_ms: 'greatest(extract(epoch FROM t.ended_at - t.started_at) * 1000, 0)',
  input_tokens: inputTokens('t.'),
  output_tokens: outputTokens('t.'),
  total_tokens: sumOfKnown(inputTokens('t.'), outputTokens('t.')),
  cost_usd: costOf('t.'),
  span_count: 't.span_count',
  error_count: 't.error_count',
} as const;

/** The columns of a `TraceSummary`, of a trace `t`. */
export const SUMMARY: Sql = raw(`t.trace_id, t.root_name, t.started_at, t.ended_at,
  ${FIGURES.duration_ms}::float8 AS duration_ms, t.span_count, t.error_count,
  ${FIGURES.input_tokens} AS input_tokens, ${FIGURES.output_tokens} AS output_tokens,
  ${FIGURES.cost_usd}::float8 AS cost_usd, t.models, t.session_id, t.service_name`);
