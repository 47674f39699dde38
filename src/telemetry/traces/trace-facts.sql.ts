import { raw, type Sql } from '#platform/db';

const SELECTS = {
  model: `SELECT nullif(model, '') AS model FROM trace_models`,
  service_name: 'SELECT service_name FROM traces',
  agent_version: 'SELECT agent_version FROM traces',
  started_at: 'SELECT started_at FROM traces',
  session_id: 'SELECT session_id, true AS is_stored FROM traces',
  user_id: 'SELECT user_id FROM traces',
  environment: 'SELECT environment FROM traces',
  prompt_name: 'SELECT prompt_name FROM traces',
  prompt_version: 'SELECT prompt_version FROM traces',
} as const;

/** A fact of a trace that other areas group by. */
type TraceFact = keyof typeof SELECTS;

/**
 * Joins a fact of the trace that a row references, under the name of the fact. A row without a trace gets null, and a row whose
 * trace has several models is returned once for each. With the session, `is_stored` tells that there is a trace. OFFSET keeps PostgreSQL from joining the whole tables.
 *
 * @param alias alias of the table with the columns `workspace_id` and `trace_id`
 */
export const joinTraceFact = (alias: string, fact: TraceFact): Sql =>
  raw(`LEFT JOIN LATERAL (
    ${SELECTS[fact]} WHERE workspace_id = ${alias}.workspace_id AND trace_id = ${alias}.trace_id OFFSET 0
  ) of_${fact} ON true`);
