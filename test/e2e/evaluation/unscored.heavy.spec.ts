import type { SqlExecutor } from '#platform/db';
import { ownApp } from '#testing';
import { nodesOf, type Plan, planOf } from './plans.harness';
import { ScoringFixture } from './scoring.fixture';
import { watchStatements } from './work.harness';

const TRACES = 20_000;
const SCORED_FROM = TRACES / 10;

/** Selecting unscored targets costs little more than selecting all. */
describe('unscored traces among many', () => {
  const app = ownApp({ autovacuum: false });
  let on: ScoringFixture;
  let scorer: any;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
    scorer = await on.scorer();
    const other = await on.scorer();
    // Two scorers tried the newest nine tenths of the traces, in runs of a hundred. Every tenth of those failed.
    await app.database.transaction(async (tx) => {
      await tx.query('SET LOCAL synchronous_commit TO on');
      await tx.query(
        `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
         SELECT CASE m WHEN 0 THEN $1 ELSE 'wsp_' || m END, lpad(to_hex(n), 32, '0'),
                timestamptz '2026-01-01' + n * interval '1 second',
                timestamptz '2026-01-01' + n * interval '2 second', 1, 0, '{}', 'ses_' || n / 10
         FROM generate_series(1, $2::int) n, generate_series(0, 2) m`,
        [on.workspaceId, TRACES],
      );
      await tx.query(
        `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                                 concurrency, total, created_at, updated_at, created_by)
         SELECT 'run_' || scorer || n, 'org', $1, scorer, 1, 'trace', 'succeeded', 4, 100, now(), now(), 'test'
         FROM unnest($2::text[]) scorer, generate_series($3::int / 100, $4::int / 100) n`,
        [on.workspaceId, [scorer.scorer_id, other.scorer_id], SCORED_FROM, TRACES],
      );
      await tx.query(
        `INSERT INTO score_targets (score_run_id, ordinal, trace_id)
         SELECT 'run_' || scorer || n / 100, n % 100, lpad(to_hex(n), 32, '0')
         FROM unnest($1::text[]) scorer, generate_series($2::int, $3::int) n`,
        [[scorer.scorer_id, other.scorer_id], SCORED_FROM, TRACES],
      );
      await tx.query(
        `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                      target_id, error, elapsed_ms)
         SELECT score_run_id, ordinal, 'score_' || score_run_id || ordinal, $1, r.scorer_id, 1, 'trace', target_id,
                CASE WHEN ordinal % 10 = 0 THEN 'failed' END, 1
         FROM score_targets JOIN score_runs r USING (score_run_id)`,
        [on.workspaceId],
      );
    });
    await app.database.query('VACUUM (ANALYZE) traces, score_runs, score_targets, target_outcomes');
  });

  const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 1000).toISOString();
  const ids = (...ns: number[]): string[] => ns.map((n) => n.toString(16).padStart(32, '0'));
  const ask = (body: object) => on.score(scorer, { since: time(0), unscored_only: true, ...body });
  const previewed = async (body: object): Promise<string[]> => {
    const answer = await ask({ mode: 'preview', ...body });
    return answer.body.results.map((one: any) => one.trace_id);
  };

  /** Returns the plans of the queries for pages of traces and for their earlier scores, made in their transactions. */
  async function plansOf(body: object): Promise<{ pages: Plan[][]; lookups: Plan[][] }> {
    const plans: { pages: Plan[][]; lookups: Plan[][] } = { pages: [], lookups: [] };
    const explain = async (query: SqlExecutor['query'], text: string, values: readonly unknown[]) => {
      const isPage = /FROM traces WHERE workspace_id = \(SELECT \$1\) AND started_at >=/.test(text);
      if (!isPage && !/FROM target_outcomes/.test(text)) return;
      const plan = nodesOf(await planOf({ query, manager: app.database.manager }, text, values));
      (isPage ? plans.pages : plans.lookups).push(plan);
    };
    await watchStatements(app.database, explain, async () => expect((await ask(body)).status).toBe(200));
    return plans;
  }

  it('are rejected without a limit, with their count', async () => {
    expect((await ask({})).body.detail).toContain('matches 3800 targets');
    expect((await ask({ grain: 'session' })).body.detail).toContain('matches 2001 targets');
  });

  it.each([
    ['the first page has untried ones', { mode: 'preview', until: time(SCORED_FROM), limit: 5 }, 1],
    // The 18,000 tried traces are in pages of 100, 200, 400, … 3,200, and then 5,000.
    ['the newest were all tried', { mode: 'preview', limit: 5 }, 9],
    ['too few are untried', { mode: 'preview', since: time(SCORED_FROM), limit: 5 }, 9],
  ])('are found by index, without sorting, if %s', async (_, body, count) => {
    const { pages, lookups } = await plansOf(body);
    expect([pages.length, lookups.length]).toEqual([count, count]);
    const used = (nodes: Plan[]) => nodes.flatMap((node) => node['Index Name'] ?? []);
    for (const nodes of pages) {
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
      expect(used(nodes)).toEqual(['traces_by_start']);
    }
    for (const nodes of lookups) {
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
      expect(used(nodes).some((index) => index === 'target_outcomes_target')).toBe(true);
    }
  });

  it('come newest first, untried ones before failed ones', async () => {
    expect(await previewed({ limit: 3 })).toEqual(ids(1999, 1998, 1997));
    const some = { since: time(1998), until: time(2011) };
    expect(await previewed(some)).toEqual(ids(1999, 1998, 2010, 2000));
    expect(await previewed({ ...some, limit: 3 })).toEqual(ids(1999, 1998, 2010));
  });

  it('exclude targets of open runs', async () => {
    const body = { since: time(1998), until: time(2021) };
    const queued = await ask({ ...body, limit: 3 });
    expect(queued.body.total).toBe(3);
    expect(await previewed(body)).toEqual(ids(2010, 2000));
    await on.evaluator.post(`/eval/v1/score-runs/${queued.body.score_run_id}/cancel`);
    // Cancelled targets count as tried and failed.
    expect(await previewed(body)).toEqual(ids(2020, 2010, 2000, 1999, 1998));
  });
});

/** Selections read the results of an experiment along their key, and no more of them than needed. */
describe('selections among many results', () => {
  const RESULTS = 20_000;
  const app = ownApp({ autovacuum: false });
  let on: ScoringFixture;
  let scorer: any;
  let experiment_id: string;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
    scorer = await on.scorer();
    experiment_id = (await on.experiment()).experiment_id;
    for (const statement of [
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, created_at, updated_at, created_by)
       SELECT CASE m WHEN 0 THEN $2 ELSE 'exp_' || m END, 'res_' || m || lpad(n::text, 25, '0'), $1, 'case ' || n,
              CASE WHEN n % 2 = 0 THEN lpad(to_hex(n), 32, '0') END, now(), now(), 'test'
       FROM generate_series(1, $3::int) n, generate_series(0, 2) m WHERE $4::text IS NOT NULL`,
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
       SELECT $1, lpad(to_hex(n), 32, '0'), now() - interval '1 day', now(), 1, 0, '{}', 'ses_' || n
       FROM generate_series(2, $3::int, 2) n WHERE $2::text IS NOT NULL AND $4::text IS NOT NULL`,
      // The newest nine tenths were scored, in runs of a hundred.
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                               concurrency, total, created_at, updated_at, created_by)
       SELECT 'run_' || n, 'org', $1, $4, 1, 'trace', 'succeeded', 4, 100, now(), now(), 'test'
       FROM generate_series($3::int / 1000, $3::int / 100) n WHERE $2::text IS NOT NULL`,
      `INSERT INTO score_targets (score_run_id, ordinal, trace_id, result_experiment_id, result_id, result_version, case_id)
       SELECT 'run_' || n / 100, n % 100, CASE WHEN n % 2 = 0 THEN lpad(to_hex(n), 32, '0') END, $2,
              'res_0' || lpad(n::text, 25, '0'), 1, 'case ' || n
       FROM generate_series($3::int / 10, $3::int) n WHERE $1::text IS NOT NULL AND $4::text IS NOT NULL`,
      `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                    target_id, elapsed_ms)
       SELECT score_run_id, ordinal, 'score_' || score_run_id || ordinal, $1, $4, 1, 'trace', target_id, 1
       FROM score_targets WHERE result_experiment_id = $2 AND $3::int > 0`,
    ]) {
      await app.database.query(statement, [on.workspaceId, experiment_id, RESULTS, scorer.scorer_id]);
    }
  });

  /** Returns the plans of the queries for pages of results, for their traces and for their scores. */
  async function plansOf(body: object): Promise<Record<'pages' | 'traces' | 'scores', Plan[][]>> {
    const plans: Record<'pages' | 'traces' | 'scores', Plan[][]> = { pages: [], traces: [], scores: [] };
    const explain = async (query: SqlExecutor['query'], text: string, values: readonly unknown[]) => {
      const kind = /FROM results\s+WHERE .* ORDER BY result_id DESC/s.test(text)
        ? 'pages'
        : /FROM traces WHERE/.test(text)
          ? 'traces'
          : /FROM target_outcomes/.test(text)
            ? 'scores'
            : undefined;
      if (!kind) return;
      plans[kind].push(nodesOf(await planOf({ query, manager: app.database.manager }, text, values)));
    };
    await watchStatements(app.database, explain, async () => {
      const answer = await on.score(scorer, { mode: 'preview', experiment_id, limit: 5, ...body });
      expect([answer.status, answer.body.results.length]).toEqual([200, 5]);
    });
    return plans;
  }

  it.each([
    ['all results', {}, 1],
    // The 18,001 scored results are in pages of 100, 200, 400, … 3,200, and then 5,000.
    ['unscored results', { unscored_only: true }, 9],
    ['results of traces from yesterday', { until: new Date(Date.now() - 3_600_000).toISOString() }, 1],
  ])('read %s along the key, without sorting', async (_, body, count) => {
    for (const statistics of ['without', 'with']) {
      if (statistics === 'with') await app.database.query('ANALYZE results, traces, target_outcomes');
      const { pages, traces, scores } = await plansOf(body);
      expect(pages).toHaveLength(count);
      for (const nodes of pages) {
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
        expect(nodes.flatMap((node) => node['Index Name'] ?? [])).toEqual(['results_pkey']);
      }
      for (const nodes of [...traces, ...scores]) {
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
      }
    }
  });

  it('are rejected over the cap, with the number of targets', async () => {
    const rejection = async (body: object): Promise<string> =>
      (await on.score(scorer, { experiment_id, ...body })).body.detail;
    expect(await rejection({})).toContain(`matches ${RESULTS} targets`);
    expect(await rejection({ unscored_only: true })).toContain('matches 1999 targets');
    const sessions = { session_ids: Array.from({ length: 200 }, (_, n) => `ses_${2 * n + 2}`) };
    expect(await rejection({ grain: 'session', ...sessions })).toContain('matches 200 targets');
  });

  it('continue where the last run stopped, newest first, and miss no result', async () => {
    const counter = await on.scorer();
    const next = async (limit: number, members: object = {}): Promise<{ ids: string[]; pages: number }> => {
      let pages = 0;
      let run: any;
      const count = (_: unknown, text: string) => {
        if (/FROM results\s+WHERE .* ORDER BY result_id DESC/s.test(text)) pages++;
        return Promise.resolve();
      };
      await watchStatements(app.database, count, async () => {
        run = (await on.score(counter, { experiment_id, unscored_only: true, limit, ...members })).body;
      });
      const targets = await app.database.query<{ result_id: string }>(
        'SELECT result_id FROM score_targets WHERE score_run_id = $1 ORDER BY ordinal',
        [run.score_run_id],
      );
      return { ids: targets.map(({ result_id }) => result_id), pages };
    };
    const ids = (from: number, to: number): string[] =>
      Array.from({ length: from - to + 1 }, (_, n) => `res_0${String(from - n).padStart(25, '0')}`);
    expect((await next(100)).ids).toEqual(ids(RESULTS, RESULTS - 99));
    expect((await next(100)).ids).toEqual(ids(RESULTS - 100, RESULTS - 199));
    // A narrowed selection does not scan the whole range.
    const narrowed = { trace_ids: [(RESULTS - 1_000).toString(16).padStart(32, '0')] };
    expect((await next(1, narrowed)).ids).toEqual(ids(RESULTS - 1_000, RESULTS - 1_000));
    for (let ran = 200; ran < 900; ran += 100) {
      // One page of results newer than all scanned ranges, and one page of the next results.
      expect(await next(100)).toEqual({ ids: ids(RESULTS - ran, RESULTS - ran - 99), pages: 2 });
    }
    const late = `${ids(RESULTS - 50, RESULTS - 50)[0]}_late`;
    // Newer results come first. Results that appear or change in scanned ranges come last.
    const insert = (resultId: string) =>
      app.database.query(
        `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
         VALUES ($1, $2, $3, $2, now(), now(), 'test')`,
        [experiment_id, resultId, on.workspaceId],
      );
    await insert('res_1');
    await insert(late);
    const next100 = async (): Promise<string[]> => (await next(100)).ids;
    expect(await next100()).toEqual(['res_1', ...ids(RESULTS - 900, RESULTS - 998)]);
    const [last] = ids(RESULTS - 1_010, RESULTS - 1_010);
    const remove = 'DELETE FROM results WHERE experiment_id = $1 AND result_id < $2';
    await app.database.query(remove, [experiment_id, last]);
    const left = [...ids(RESULTS - 999, RESULTS - 999), ...ids(RESULTS - 1_001, RESULTS - 1_010)];
    expect(await next100()).toEqual([...left, late]);
    expect(await next100()).toEqual([]);
  });
});
