import type { Tx } from '#platform/db';
import { createTestApp, type TestApp } from '#testing';
import { HumanLandingRepository } from '../../../src/evaluation/scores/human-landing.repository';
import { UploadLandingRepository } from '../../../src/evaluation/scores/upload-landing.repository';
import { INSERT_RESULTS } from '../../../src/evaluation/results/result.repository';
import { EvaluationWorkspace } from './evaluation.harness';
import { type Plan, planOf, scansOf, vacuumed } from './plans.harness';

const traceId = (n: number): string => String(n).padStart(32, '0');

/** What a user would lose without an index: uploads and scores that slow down as scores and results pile up. */
describe('with many results and many scores of people', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;
  let experimentId: string;

  beforeAll(async () => {
    app = await createTestApp();
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
      await tx.query(`
        INSERT INTO scorers (scorer_id, workspace_id, version_id, name, scorer_kind, grain, definition, created_by)
        SELECT 'scr_' || n, 'wsp_' || n, 'ver_' || n, 'scorer ' || n, 'human', 'trace', '{}', 'test'
        FROM generate_series(0, 2999) n`);
      await tx.query(`
        INSERT INTO scorer_versions (scorer_id, scorer_version, version_id, workspace_id, name, scorer_kind, grain,
                                     definition, tags, metadata, created_at, created_by)
        SELECT scorer_id, 1, version_id, workspace_id, name, 'human', 'trace', '{}', '{}', '{}', now(), 'test'
        FROM scorers`);
      await tx.query(
        `INSERT INTO human_scores (score_id, workspace_id, scorer_id, scorer_version, target_kind, trace_id, score, value,
                                   output_sha256, created_at, updated_at, created_by)
         SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'scr_' || n % 3, 1, 'trace', lpad((n % 9000)::text, 32, '0'), 1,
                'true', 'o', now(), now(), 'usr_' || n
         FROM generate_series(1, 40000) n`,
        [space.id],
      );
    });
    await vacuumed(app, ['results', 'human_scores', 'scorers', 'scorer_versions']);
  });
  afterAll(() => app.close());

  /** The plans of all statements of a transaction that read a table. */
  async function plansOf(work: (tx: Tx) => Promise<unknown>): Promise<Plan[]> {
    const plans: Plan[] = [];
    await app.database.transaction((tx) =>
      work({
        ...tx,
        query: async (statement, values = []) => {
          const text = typeof statement === 'string' ? statement : statement.text;
          plans.push(await planOf(tx, text, values));
          return tx.query(statement, values);
        },
      }),
    );
    return plans;
  }

  const expectLookups = (plans: Plan[], indexes: string[]): void => {
    const scans = scansOf(plans);
    // the few experiments and scorers of a test are read at once, whatever indexes they have
    const whole = scans.filter((node) => node['Node Type'] === 'Seq Scan');
    expect(whole.map((node) => node['Relation Name']).filter((name) => name !== 'experiments')).toEqual([]);
    expect(scans.map((node) => node['Index Name'])).toEqual(expect.arrayContaining(indexes));
  };

  it('an upload looks for scores of what it names, and for nothing else', async () => {
    const row = { result_id: 'res_x', case_id: 'x', trace_id: traceId(1) };
    const values = [JSON.stringify([row]), experimentId, space.id, new Date(), 'test'];
    expectLookups([await planOf(app.database, INSERT_RESULTS.text, values)], ['human_scores_named']);
  });

  it('what was said before is found by what results name', async () => {
    const landings = app.get(UploadLandingRepository);
    const results = Array.from({ length: 100 }, (_, n) => ({
      result_id: `res_${traceId(n).slice(6)}`,
      trace_id: traceId(n),
      session_id: `s${n}`,
    }));
    const scope = { workspaceId: space.id } as Parameters<typeof landings.land>[1];
    const plans = await plansOf((tx) => landings.land(tx, scope, experimentId, results));
    expectLookups(plans, ['human_scores_named']);
  });

  it.each(['trace', 'session'] as const)('a score of a %s finds the results that name it', async (kind) => {
    const landings = app.get(HumanLandingRepository);
    const scope = { workspaceId: space.id } as Parameters<typeof landings.land>[1];
    const landing = {
      ...{ scorerId: 'scr_1', name: 'n', outputSha256: 'o', minAnnotations: 1 },
      at: new Date(),
    };
    const plans = await plansOf(async (tx) => {
      const results = await landings.naming(tx, scope, kind, kind === 'trace' ? traceId(1) : 's1');
      expect(results.length).toBeGreaterThan(1);
      await landings.land(tx, scope, results, landing);
    });
    expect(plans).toHaveLength(6);
    expectLookups(plans, ['human_scores_present']);
  });
});
