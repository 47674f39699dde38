import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import { toJson } from './json.js';

/** Results that have the same error. */
export interface Failure {
  /** The first of the cases. */
  caseId: string;
  input: unknown;
  error: string;
  /** Number of results with this error. */
  count: number;
}

/** Number of results that are read. */
const READ_MAX = 1000;
const SHOWN_MAX = 20;

/** Returns the errors of an experiment, the most frequent first. */
export async function readFailures(
  client: Client,
  experiment_id: string,
  options: RequestOptions,
): Promise<Failure[]> {
  const list = client.api.listResults(
    { experiment_id, has_error: true, sort: 'created_at', limit: 100, total: false },
    options,
  );
  const found = new Map<string, Failure>();
  for (const { case_id: caseId, input, error: given } of await list.take(READ_MAX)) {
    const error = typeof given === 'string' ? given : toJson(given);
    const same = found.get(error);
    if (same) same.count += 1;
    else found.set(error, { caseId, input, error, count: 1 });
  }
  return [...found.values()].sort((a, b) => b.count - a.count).slice(0, SHOWN_MAX);
}
