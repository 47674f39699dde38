import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import type { Bench } from '../bench';
import { compare } from '../measure';
import { batchToEnd, newScorer, newTraces, SESSIONS } from './scoring';

const TARGETS = 5_000;
const JUDGED_TARGETS = 1_000;
const POLL_MS = 100;
/** Waits longer than the quiet time of the rules, which is one second. */
const QUIET_MS = 1_500;
const LIMIT_USD = 1_000;

const CODE = { grain: 'trace' };
const JUDGE = {
  grain: 'trace',
  scorer_kind: 'llm_judge',
  definition: { prompt: 'Is {{output}} right for {{input}}?', output: { type: 'boolean' } },
};

/** Stored traces, and the position in the order of arrival before the first of them. */
interface Stored {
  count: number;
  root: string;
  before_us: number;
}

/**
 * Scores stored traces by a rule, compared with a batch over the same traces: with code that does nothing, and with a judge
 * that answers at once, under a cost limit. Measures the targets per second from the first run to the end of the last.
 */
export async function scoringRules(bench: Bench): Promise<void> {
  bench.judge.delayMs = 0;
  const traces = await store(bench, TARGETS);
  const code = await compare([
    { name: 'batch', measure: () => byBatch(bench, CODE, traces) },
    { name: 'rule', measure: () => byRule(bench, CODE, traces) },
  ]);
  bench.report(`${TARGETS} code targets by a rule`, 'per second', code, ['batch', 'rule']);
  const judged = await store(bench, JUDGED_TARGETS);
  const limited = await compare([
    { name: 'batch', measure: () => byBatch(bench, JUDGE, judged, { max_cost_usd: LIMIT_USD }) },
    {
      name: 'rule',
      measure: () => byRule(bench, JUDGE, judged, { max_cost_usd_per_day: LIMIT_USD, pace: 'greedy' }),
    },
  ]);
  const title = `${JUDGED_TARGETS} judged targets by a rule with a daily budget`;
  bench.report(title, 'per second', limited, ['batch', 'rule']);
}

async function store(bench: Bench, count: number): Promise<Stored> {
  const root = newId('item');
  const [clock] = await bench.direct.query<{ before_us: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::float8 AS before_us',
  );
  for (let sent = 0; sent < count; sent += SESSIONS) await newTraces(bench, root);
  await delay(QUIET_MS);
  return { count, root, before_us: clock!.before_us };
}

async function byBatch(bench: Bench, scorer: object, { count, root }: Stored, limit = {}): Promise<number> {
  const scorerId = await newScorer(bench, scorer);
  const filters = [{ field: 'root_name', op: 'eq', value: root }];
  await batchToEnd(bench, scorerId, count, { filters, cache: false, ...limit });
  return perSecond(bench, scorerId, count);
}

async function byRule(
  bench: Bench,
  scorer: object,
  { count, root, before_us }: Stored,
  limit = {},
): Promise<number> {
  const scorerId = await newScorer(bench, scorer);
  const path = `/eval/v1/scorers/${scorerId}/rules`;
  const filters = [{ field: 'root_name', op: 'eq', value: root }];
  const body = { workspace_id: bench.scope.workspaceId, quiet_seconds: 1, filters, ...limit };
  const { rule_id } = await bench.http.json<{ rule_id: string }>('POST', path, 201, body);
  // A rule ignores the traces that arrived before it. This one starts with the stored ones.
  await bench.direct.query('UPDATE scoring_rules SET seen_us = $2 WHERE rule_id = $1', [rule_id, before_us]);
  for (;;) {
    const rule = await bench.http.json<{ scored_count: number }>('GET', `${path}/${rule_id}`, 200);
    if (rule.scored_count === count) break;
    await delay(POLL_MS);
  }
  await bench.http.json('PATCH', `${path}/${rule_id}`, 200, { enabled: false });
  return perSecond(bench, scorerId, count);
}

/** Returns the targets per second of all runs of a scorer. */
async function perSecond(bench: Bench, scorerId: string, count: number): Promise<number> {
  const [runs] = await bench.direct.query<{ seconds: number }>(
    `SELECT extract(epoch FROM max(finished_at) - min(created_at))::float8 AS seconds FROM score_runs
     WHERE scorer_id = $1`,
    [scorerId],
  );
  return count / runs!.seconds;
}
