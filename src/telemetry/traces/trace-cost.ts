/**
 * What the calls of a row cost together, in US dollars: null where one of them used tokens that have no price, because
 * a sum over the others would pass for the whole.
 *
 * @param row what stands before the names of columns of `traces` or `trace_models`, as `t.`
 */
export const costOfCalls = (row = ''): string => `CASE WHEN ${row}unpriced_count = 0 THEN ${row}cost_usd END`;

/**
 * What a trace cost: its calls; else what its root tells itself, which is above all of them, and which is no less than
 * those with a price cost. Where no call tells what it used, it is the dearest step, if all steps have a price.
 */
export const costOfTrace = (row = ''): string =>
  `coalesce(${costOfCalls(row)}, CASE
     WHEN num_nonnulls(${row}input_tokens, ${row}output_tokens, ${row}cost_usd) = 0
       THEN CASE WHEN ${row}step_unpriced_count = 0 THEN ${row}step_cost_usd END
     WHEN ${row}root_cost_usd >= coalesce(${row}cost_usd, 0) THEN ${row}root_cost_usd END)`;
