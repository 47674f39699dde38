import type { Scope } from '#platform/auth';
import { ownApp } from '#testing';
import { ResultLockRepository } from '../../../src/evaluation/experiments/results/result-lock.repository';
import { ResultRepository } from '../../../src/evaluation/experiments/results/result.repository';
import { ScoreWriteBackRepository } from '../../../src/evaluation/scores/score-write-back.repository';
import { EvaluationWorkspace } from './evaluation.harness';
import { type Plan, plansWithin, scansOf, vacuum } from './plans.harness';

const traceId = (n: number): string => String(n).padStart(32, '0');

/** Uploads and scores stay fast as scores and results accumulate. */
describe('human-score write-back with many results and scores', () => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;
  let experimentId: string;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    experimentId = (await space.experiment()).experiment_id;
    await app.database.transaction(async (tx) => {
      await tx.query('SET LOCAL synchronous_commit TO on');
      await tx.query(
        `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, session_id, created_at,
                              updated_at, created_by)
         SELECT CASE n / 2000 WHEN 0 THEN $2 ELSE 'exp_z' || n / 2000 END, 'res_' || lpad(n::text, 26, '0'), $1,
                'case ' || n, lpad((n % 9000)::text, 32, '0'), 's' || n % 3000, now(), now(), 'test'
         FROM generate_series(1, 20000) n`,
        [space.id, experimentId],
      );
      await tx.query(
        `INSERT INTO result_scores (experiment_id, scorer, scorer_version, result_id, source, workspace_id, score, is_shown)
         SELECT experiment_id, 'n', 1, result_id, 'client', workspace_id, 1, true FROM results WHERE workspace_id = $1`,
        [space.id],
      );
      await tx.query(`
        INSERT INTO scorers (scorer_id, workspace_id, version_id, name, scorer_kind, grain, definition, created_by)
        SELECT 'scr_' || n, 'wsp_' || n, 'ver_' || n, 'scorer ' || n, 'human', 'trace', '{}', 'test'
        FROM generate_series(0, 2999) n`);
      await tx.query(`
        INSERT INTO scorer_versions (scorer_id, scorer_version, version_id, workspace_id, scorer_kind, grain,
                                     definition, created_at, created_by)
        SELECT scorer_id, 1, version_id, workspace_id, 'human', 'trace', '{}', now(), 'test'
        FROM scorers`);
      await tx.query(
        `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                             target_kind, trace_id, score, output_sha256, created_at, created_by)
         SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'scr_' || n % 3, 1, 'human', 'scorer ' || n % 3, 'human', 'trace',
                lpad((n % 9000)::text, 32, '0'), 1, 'o', now(), 'usr_' || n
         FROM generate_series(1, 40000) n`,
        [space.id],
      );
    });
    await vacuum(app, ['results', 'result_scores', 'scores', 'scorers', 'scorer_versions']);
  });

  const scope = () => ({ workspaceId: space.id, principalId: 'test' }) as Scope;

  const expectLookups = (plans: Plan[], indexes: string[]): void => {
    const scans = scansOf(plans);
    // PostgreSQL reads the few experiments of a test sequentially, whatever indexes they have
    const whole = scans.filter((node) => node['Node Type'] === 'Seq Scan');
    expect(whole.map((node) => node['Relation Name']).filter((name) => name !== 'experiments')).toEqual([]);
    expect(scans.map((node) => node['Index Name'])).toEqual(expect.arrayContaining(indexes));
  };

  it('reads only the scores of the uploaded targets', async () => {
    const results = app.get(ResultRepository);
    const row = {
      result_id: 'res_x',
      case_id: 'x',
      trace_id: traceId(1),
      metadata: {},
      tags: [],
      scores: {},
      is_expected: false,
    };
    const rows = [{ ...row, score_details: {} }] as unknown as Parameters<typeof results.writeMany>[3];
    const plans = await plansWithin(app, (tx) =>
      results.writeMany(tx, scope(), experimentId, rows, { at: new Date(), replaces: false }),
    );
    expectLookups(plans, ['scores_human_by_target']);
  });

  it('finds earlier scores by the targets of new results', async () => {
    const results = Array.from({ length: 100 }, (_, n) => ({
      result_id: `res_${traceId(n).slice(6)}`,
      trace_id: traceId(n),
      session_id: `s${n}`,
    }));
    const plans = await plansWithin(app, (tx) =>
      app.get(ScoreWriteBackRepository).intoNewResults(tx, scope(), experimentId, results),
    );
    expectLookups(plans, ['scores_human_by_target']);
  });

  it.each(['trace', 'session'] as const)('finds the results of a scored %s', async (kind) => {
    const writeBack = app.get(ScoreWriteBackRepository);
    const score = {
      ...{ scorerId: 'scr_1', name: 'n', outputSha256: 'o', minAnnotations: 1 },
      at: new Date(),
    };
    const plans = await plansWithin(app, async (tx) => {
      const locks = app.get(ResultLockRepository);
      const results = await locks.lockReferencing(tx, scope(), kind, kind === 'trace' ? traceId(1) : 's1');
      expect(results.length).toBeGreaterThan(1);
      const locked = await locks.lockForScores(tx, scope(), results);
      await writeBack.intoResults(tx, scope(), locked, score);
    });
    expect(plans).toHaveLength(7);
    expectLookups(plans, ['scores_human_by_target', 'result_scores_result']);
  });
});
