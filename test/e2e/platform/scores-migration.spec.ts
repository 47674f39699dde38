import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, dropDatabase, type TestDatabase } from '#testing';
import { migrate } from '../../../src/database/migrate';
import { MIGRATIONS } from '../../../src/database/migrations';
import { EvaluationScoresInOneTable1795459300000 } from '../../../src/database/migrations/1795459300000-evaluation-scores-in-one-table';

const EARLIER = MIGRATIONS.slice(0, MIGRATIONS.indexOf(EvaluationScoresInOneTable1795459300000));

describe('the migration of scores into one table', () => {
  let server: TestDatabase;
  let session: Client;
  let name: string;
  let upgraded: Client;

  beforeAll(async () => {
    server = await createTestDatabase();
    session = new Client({ connectionString: server.url });
    await session.connect();
    const url = new URL(server.url);
    name = `${url.pathname.slice(1)}_upgraded`;
    url.pathname = `/${name}`;
    await session.query(`CREATE DATABASE ${name}`);
    const source = new DataSource({ type: 'postgres', url: url.toString(), migrations: EARLIER, installExtensions: false });
    await source.initialize();
    await source.runMigrations({ transaction: 'each' });
    await source.query(STORED);
    await source.destroy();
    await migrate(url.toString());
    upgraded = new Client({ connectionString: url.toString() });
    await upgraded.connect();
  }, 120_000); // prettier-ignore
  afterAll(async () => {
    await upgraded.end();
    await dropDatabase(session, name);
    await session.end();
    await server.drop();
  });

  const scoresOf = async (source: string): Promise<unknown[]> =>
    (
      await upgraded.query(
        `SELECT score_id, scorer_name, scorer_version, target_kind, target_id, score, label, comment,
                superseded_at IS NOT NULL AS is_superseded, superseded_by_score_id AS superseded_by
         FROM scores WHERE source = $1 ORDER BY score_id`,
        [source],
      )
    ).rows;

  it('keeps human scores, with their history', async () => {
    const of = {
      scorer_name: 'person',
      scorer_version: 1,
      target_kind: 'trace',
      target_id: 't1',
      comment: null,
    };
    expect(await scoresOf('human')).toEqual([
      { ...of, score_id: 'score_1', score: 0, label: 'bad', is_superseded: true, superseded_by: 'score_2' },
      { ...of, score_id: 'score_2', score: 1, label: 'good', is_superseded: false, superseded_by: null },
    ]);
  });

  it('keeps the scores of runs without errors, and makes the newest of each version and target current', async () => {
    const of = { scorer_name: 'code', scorer_version: 1, comment: null, label: null };
    const onTrace = { ...of, target_kind: 'trace', target_id: 't1' };
    expect(await scoresOf('hosted')).toEqual([
      { ...onTrace, score_id: 'score_3', score: 0.5, is_superseded: true, superseded_by: 'score_4' },
      { ...onTrace, score_id: 'score_4', score: 0.75, is_superseded: false, superseded_by: null },
      { ...of, target_kind: 'result', target_id: 'res_1', score_id: 'score_6', score: 1, is_superseded: true, superseded_by: null },
    ]);
  }); // prettier-ignore

  it('creates scores for uploaded results, with new ids that sort by time', async () => {
    const of = { target_kind: 'result', is_superseded: false, superseded_by: null, score_id: expect.stringMatching(/^score_0[0-9a-z]{25}$/) as string };
    const rows = await scoresOf('client');
    expect(rows).toEqual([
      { ...of, target_id: 'res_1', scorer_name: 'exact', scorer_version: 3, score: 0.25, label: 'near', comment: 'why' },
      { ...of, target_id: 'res_2', scorer_name: 'exact', scorer_version: null, score: 1, label: null, comment: null },
    ]);
    // the first ten characters are the milliseconds since 1970
    const [first] = (rows as { score_id: string }[]).map(({ score_id }) => score_id.slice(6, 16));
    const millis = [...first!].reduce((sum, one) => sum * 32 + '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(one), 0);
    expect(new Date(millis).toISOString()).toBe('2026-01-02T03:04:05.000Z');
  }); // prettier-ignore
});

const STORED = `
  INSERT INTO scorers (scorer_id, workspace_id, version_id, name, scorer_kind, grain, definition, created_by)
  VALUES ('scr_h', 'wsp', 'ver_1', 'person', 'human', 'trace', '{}', 'ann'),
         ('scr_c', 'wsp', 'ver_2', 'code', 'code', 'trace', '{}', 'ann');
  INSERT INTO scorer_versions (scorer_id, scorer_version, version_id, workspace_id, name, scorer_kind, grain, definition,
                               tags, metadata, created_at, created_by)
  SELECT scorer_id, 1, version_id, workspace_id, name, scorer_kind, grain, '{}', '{}', '{}', now(), 'ann' FROM scorers;
  INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, experiment_status, created_by)
  VALUES ('exp_1', 'wsp', 'e', 'e', 'running', 'ann');
  INSERT INTO results (experiment_id, result_id, workspace_id, case_id, scores, score_details, version, created_at, updated_at,
                       created_by)
  VALUES ('exp_1', 'res_1', 'wsp', 'c1', '{"exact": 0.25}',
          '{"exact": {"label": "near", "comment": "why", "scorer_version": 3}}', 2, '2026-01-02T03:04:05Z',
          '2026-01-02T03:04:05Z', 'bob'),
         ('exp_1', 'res_2', 'wsp', 'c2', '{"exact": 1}', '{}', 1, '2026-01-02T03:04:06Z', '2026-01-02T03:04:06Z', 'bob');
  INSERT INTO result_scores (experiment_id, scorer, scorer_version, result_id, source, workspace_id, score, is_shown)
  VALUES ('exp_1', 'exact', 3, 'res_1', 'client', 'wsp', 0.25, true),
         ('exp_1', 'exact', 0, 'res_2', 'client', 'wsp', 1, true),
         ('exp_1', 'code', 1, 'res_2', 'hosted', 'wsp', 1, true);
  INSERT INTO human_scores (score_id, workspace_id, scorer_id, scorer_version, target_kind, trace_id, score, choice,
                            output_sha256, superseded_by_score_id, created_at, updated_at, created_by)
  VALUES ('score_1', 'wsp', 'scr_h', 1, 'trace', 't1', 0, 'bad', 'o', 'score_2', now(), now(), 'ann'),
         ('score_2', 'wsp', 'scr_h', 1, 'trace', 't1', 1, 'good', 'o', NULL, now(), now(), 'ann');
  INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, concurrency, total,
                          created_at, updated_at, created_by)
  VALUES ('run_1', 'org', 'wsp', 'scr_c', 1, 'trace', 1, 4, now(), now(), 'ann'),
         ('run_2', 'org', 'wsp', 'scr_c', 1, 'trace', 1, 1, now(), now(), 'ann');
  INSERT INTO score_targets (score_run_id, ordinal, trace_id, result_experiment_id, result_id, result_version)
  VALUES ('run_1', 0, 't1', NULL, NULL, NULL), ('run_2', 0, 't1', NULL, NULL, NULL), ('run_1', 1, 't2', NULL, NULL, NULL),
         ('run_1', 2, NULL, 'exp_1', 'res_1', 1);
  INSERT INTO score_results (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain, trace_id,
                             experiment_id, result_id, result_version, score, error, elapsed_ms)
  VALUES ('run_1', 0, 'score_3', 'wsp', 'scr_c', 1, 'trace', 't1', NULL, NULL, NULL, 0.5, NULL, 1),
         ('run_2', 0, 'score_4', 'wsp', 'scr_c', 1, 'trace', 't1', NULL, NULL, NULL, 0.75, NULL, 1),
         ('run_1', 1, 'score_5', 'wsp', 'scr_c', 1, 'trace', 't2', NULL, NULL, NULL, NULL, 'failed', 1),
         ('run_1', 2, 'score_6', 'wsp', 'scr_c', 1, 'trace', NULL, 'exp_1', 'res_1', 1, 1, NULL, 1);
`;
