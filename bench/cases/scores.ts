import { Environment } from '#platform/config';
import { ScoreRepository } from '../../src/evaluation/scores/score.repository';
import type { ScoreGroup } from '../../src/evaluation/scores/score-stats.dto';
import { ScoreStatsRepository } from '../../src/evaluation/scores/score-stats.repository';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const SCORES = 1_000_000;
const TRACES = 100_000;
const SCORERS = 5;
const DAYS = 30;
const CLIENTS = 4;
const PAGES = 60;
const CALLS = 3;

const ROUTE = '/eval/v1/scores';
const NAME = 'scorer 1';

/** Creates scores of traces over 30 days, by 5 scorers and from 2 sources. */
async function fill(bench: Bench): Promise<void> {
  const { workspaceId } = bench.scope;
  await bench.direct.query(
    `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, service_name)
     SELECT $1, 'c' || lpad(to_hex(n), 31, '0'), now(), now(), 1, 0, ARRAY['model ' || n % 5], 'service ' || n % 3
     FROM generate_series(1, $2::int) n`,
    [workspaceId, TRACES],
  );
  await bench.direct.query(
    `INSERT INTO trace_models (workspace_id, trace_id, model)
     SELECT workspace_id, trace_id, models[1] FROM traces WHERE workspace_id = $1 AND trace_id LIKE 'c000%'`,
    [workspaceId],
  );
  await bench.direct.query(
    `INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, trace_id, score, created_at, created_by)
     SELECT 'score_c' || lpad(n::text, 25, '0'), $1, 'scorer ' || n % $3::int,
            CASE WHEN n % 7 = 0 THEN 'end_user' ELSE 'client' END, 'trace', 'c' || lpad(to_hex(n % $4::int + 1), 31, '0'),
            (n::int8 * 7919 % 10007) / 10007.0, now() - (1 - n / $2::float8) * $5::int * interval '1 day', 'bench'
     FROM generate_series(1, $2::int) n`,
    [workspaceId, SCORES, SCORERS, TRACES, DAYS],
  );
  await bench.direct.query('VACUUM (ANALYZE) scores, traces, trace_models');
}

/** Lists 1,000,000 scores and computes statistics of them. The baseline runs only the statements of the service. */
export async function scores(bench: Bench): Promise<void> {
  await fill(bench);
  const stored = new ScoreRepository(bench.direct.database, new Environment());
  const lists: [string, Record<string, string>][] = [
    ['first page', {}],
    ['of one scorer', { scorer_name: NAME }],
    ['of one trace', { trace_id: `c${'7'.padStart(31, '0')}` }],
    ['lowest of one scorer', { scorer_name: NAME, sort: 'score' }],
    ['by source and minimum', { source: 'end_user', min_score: '0.9' }],
  ];
  for (const [title, query] of lists) {
    const { min_score, ...others } = query;
    const filters = { ...others, ...(min_score && { min_score: Number(min_score) }) };
    const path = `${ROUTE}?${new URLSearchParams(query).toString()}`;
    const result = await compare([
      {
        name: 'direct',
        measure: async () =>
          (PAGES * 1000) / (await timeCalls(PAGES, CLIENTS, () => stored.list(bench.scope, filters))),
      },
      {
        name: 'service',
        measure: async () =>
          (PAGES * 1000) / (await timeCalls(PAGES, CLIENTS, () => bench.http.send('GET', path, 200))),
      },
    ]);
    bench.report(`50 of ${SCORES} scores, ${title}, ${CLIENTS} clients`, 'requests/s', result);
  }
  await stats(bench);
}

async function stats(bench: Bench): Promise<void> {
  const stored = new ScoreStatsRepository();
  const queries: [string, ScoreGroup[], object][] = [
    ['ungrouped', [], {}],
    ['by scorer and day', ['scorer', 'day'], {}],
    ['of one scorer by day', ['day'], { scorer_name: NAME }],
    ['by model and service', ['model', 'service'], {}],
  ];
  for (const [title, groupBy, filters] of queries) {
    const body = JSON.stringify({ group_by: groupBy, ...filters });
    const result = await compare([
      {
        name: 'direct',
        measure: async () =>
          (await timeCalls(CALLS, 1, () =>
            stored.stats(bench.direct.database, bench.scope, filters, { groupBy, passScore: 0.5 }),
          )) / CALLS,
      },
      {
        name: 'service',
        measure: async () =>
          (await timeCalls(CALLS, 1, () => bench.http.send('POST', `${ROUTE}/stats/query`, 200, body))) /
          CALLS,
      },
    ]);
    bench.report(`score stats over ${SCORES} scores, ${title}`, 'ms', result);
  }
}
