import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '#testing';
import { migrate } from '../../../src/database/migrate';
import { MIGRATIONS } from '../../../src/database/migrations';
import { EvaluationScoring1795132800700 } from '../../../src/database/migrations/1795132800700-evaluation-scoring';
import { EvaluationRecordTags1795132800990 } from '../../../src/database/migrations/1795132800990-evaluation-record-tags';

const FIRST = MIGRATIONS.slice(0, MIGRATIONS.indexOf(EvaluationScoring1795132800700) + 1);
const BY = `'2026-11-20', '2026-11-20', 'bootstrap'`;

const ROWS = `
  INSERT INTO organizations (org_id, name, created_at, updated_at, created_by) VALUES ('o', 'default', ${BY});
  INSERT INTO service_accounts (service_account_id, org_id, name, roles, workspace_ids, created_at, updated_at, created_by)
    VALUES ('a', 'o', 'default', '{owner}', '{w}', ${BY}), ('b', 'o', 'another', '{owner}', '{w}', ${BY});
  INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, input)
    VALUES ('w', 't', '2026-11-20', '2026-11-20', 1, 0, '{}', '"asked"'), ('w', 'u', '2026-11-20', '2026-11-20', 1, 0, '{}', NULL);
  INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id)
    SELECT 'w', trace_id, started, started, 1, 0, '{}', session
    FROM (VALUES ('v1', timestamptz '2026-11-20', 'one'), ('v2', '2026-11-21', 'one'), ('v3', '2026-11-20', 'other'),
                 ('v4', '2026-11-20', NULL)) AS t(trace_id, started, session);
  INSERT INTO spans (workspace_id, trace_id, span_id, name, kind, status_code, started_at, ended_at, source_id, cost_usd,
                     attributes)
    SELECT 'w', trace_id, '0', 'agent', 'internal', 'unset', now(), now(), '00000000-0000-0000-0000-000000000001', cost,
           json_build_object('gen_ai.operation.name', 'invoke_agent', 'llm.cost.total', told)
    FROM (VALUES ('v1', 0.25, '" .25 "'::json), ('v2', 0.3, '-1'), ('v3', 0.3, '1e7'), ('v4', 0.3, '"1e999999"'))
      AS t(trace_id, cost, told);
  INSERT INTO spans (workspace_id, trace_id, span_id, name, kind, status_code, started_at, ended_at, source_id, model,
                     input_tokens, cost_usd, attributes, parent_span_id)
    SELECT 'w', 't', n::text, 'step', 'client', 'unset', now(), now(), '00000000-0000-0000-0000-000000000001', model,
           tokens, cost, attributes, CASE WHEN n > 0 THEN '0' END
    FROM (VALUES (0, 'c', NULL, 0.4, '{"gen_ai.operation.name": "invoke_agent", "operation.cost": 0.4}'::json),
                 (1, 'a', 20, 0.1, '{"gen_ai.operation.name": "chat"}'),
                 (2, 'a', 10, 0.2, '{}'),
                 (3, 'a', 30, 0.3, '{"openinference.span.kind": "AGENT"}'),
                 (4, 'b', 35, NULL, '{"gen_ai.operation.name": "", "ai.operationId": "ai.generateText"}'),
                 (5, NULL, 5, NULL, '{}'),
                 (6, NULL, NULL, NULL, '{}'),
                 (7, 'b', 7, NULL, '{"gen_ai.operation.name": "chat"}'),
                 (8, 'b', 0, NULL, '{}')) AS span(n, model, tokens, cost, attributes);
  INSERT INTO spans (workspace_id, trace_id, span_id, parent_span_id, name, kind, status_code, status_message, started_at,
                     ended_at, source_id, attributes, events)
    VALUES ('w', 'u', 'fedcba9876543210', 'ffffffffffffffff', 'far', 'client', 'error', 'why', '2026-11-20', '2026-11-21',
            '00000000-0000-0000-0000-000000000001', '{"b": 1, "a": [2]}', '[{"name": "e"}]');
  INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, experiment_status, summary, created_by)
    VALUES ('e1', 'w', 'eval/nightly "größe"', 'é-1', 'completed',
            '{"scores": {"Exact": {"mean": 0.1, "count": 3}, "latency:p95": {"mean": -3, "count": 1}}}', 'u'),
           ('e2', 'w', 'running', 'running', 'running', NULL, 'u');
`;

describe('a database of the first schema', () => {
  let database: TestDatabase;
  let session: Client;
  let name: string;
  let upgraded: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    session = new Client({ connectionString: database.url });
    await session.connect();
    name = `${new URL(database.url).pathname.slice(1)}_first`;
    await session.query(`CREATE DATABASE ${name}`);
    const url = Object.assign(new URL(database.url), { pathname: name }).toString();
    upgraded = await new DataSource({
      type: 'postgres',
      url,
      migrations: FIRST,
      migrationsTableName: 'migrations',
      installExtensions: false,
    }).initialize();
    await upgraded.runMigrations();
    await upgraded.query(ROWS);
    await migrate(url);
  });
  afterAll(async () => {
    await upgraded?.destroy();
    await session.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await session.end();
    await database.drop();
  });

  const rows = (query: string): Promise<object[]> => upgraded.query(query);

  it('is brought to the present one by every migration after it', async () => {
    expect(await rows('SELECT FROM migrations')).toHaveLength(MIGRATIONS.length);
  });

  it('tells what each model used in its traces, apart from steps that repeat it', async () => {
    const used = `SELECT model, input_tokens::int AS calls, cost_usd::float AS cost, step_input_tokens::int AS steps,
      unpriced_count::int AS unpriced FROM trace_models WHERE trace_id = 't' ORDER BY 1`;
    expect(await rows(used)).toEqual([
      { model: '', calls: 5, cost: null, steps: null, unpriced: 1 },
      { model: 'a', calls: 30, cost: 0.3, steps: 30, unpriced: 0 },
      { model: 'b', calls: 7, cost: null, steps: 35, unpriced: 1 },
      { model: 'c', calls: null, cost: null, steps: null, unpriced: 0 },
    ]);
  });

  it('tells how large its traces are, and what of their calls and steps has no price', async () => {
    const told = `SELECT trace_id, content_size, unpriced_count::int AS calls, step_unpriced_count::int AS steps,
      root_cost_usd::float AS root FROM traces ORDER BY 1`;
    expect(await rows(told)).toEqual([
      { trace_id: 't', content_size: 7, calls: 2, steps: 1, root: 0.4 },
      { trace_id: 'u', content_size: 0, calls: 0, steps: 0, root: null },
      { trace_id: 'v1', content_size: 0, calls: 0, steps: 0, root: 0.25 },
      ...['v2', 'v3', 'v4'].map((trace_id) => ({
        trace_id,
        content_size: 0,
        calls: 0,
        steps: 0,
        root: null,
      })),
    ]);
  });

  it('has the sessions that its traces name, with the start of the last trace of each', async () => {
    const sessions = `SELECT workspace_id, session_id, last_started_at FROM trace_sessions ORDER BY 2`;
    expect(await rows(sessions)).toEqual([
      { workspace_id: 'w', session_id: 'one', last_started_at: new Date('2026-11-21T00:00:00Z') },
      { workspace_id: 'w', session_id: 'other', last_started_at: new Date('2026-11-20T00:00:00Z') },
    ]);
  });

  it('has all of its spans by day, under the numbers of their traces', async () => {
    const spans = `SELECT t.trace_id, lpad(to_hex(s.span_id), 16, '0') AS id, lpad(to_hex(s.parent_span_id), 16, '0') AS parent,
        name, kind, status_code, status_message, attributes::text, events::text
      FROM spans s JOIN traces t USING (workspace_id, day, trace_no)`;
    expect(await rows(`${spans} WHERE trace_id = 'u'`)).toEqual([
      {
        trace_id: 'u',
        id: 'fedcba9876543210',
        parent: 'ffffffffffffffff',
        name: 'far',
        kind: 'client',
        status_code: 'error',
        status_message: 'why',
        attributes: '{"b": 1, "a": [2]}',
        events: '[{"name": "e"}]',
      },
    ]);
    const ofT = `SELECT id, parent FROM (${spans}) s WHERE trace_id = 't' ORDER BY id`;
    expect(await rows(ofT)).toEqual(
      Array.from({ length: 9 }, (_, n) => ({
        id: String(n).padStart(16, '0'),
        parent: n > 0 ? '0'.repeat(16) : null,
      })),
    );
    expect(await rows('SELECT FROM spans')).toHaveLength(14);
    expect(await rows('SELECT DISTINCT trace_no FROM traces')).toHaveLength(6);
  });

  it('has the means of finalized experiments where searches look for them', async () => {
    expect(await rows('SELECT experiment_id, scorer, mean FROM experiment_scores ORDER BY 1, 2')).toEqual([
      { experiment_id: 'e1', scorer: 'Exact', mean: 0.1 },
      { experiment_id: 'e1', scorer: 'latency:p95', mean: -3 },
    ]);
  });

  it('finds what was written by the same words as what is written', async () => {
    const differing = `SELECT experiment_id FROM experiments
      WHERE search <> search_words(name || ' ' || experiment_name || ' ' || coalesce(description, ''))`;
    expect(await rows(differing)).toEqual([]);
    const found = (word: string) =>
      rows(`SELECT experiment_id AS id FROM experiments WHERE search @@ '${word}'::tsquery`);
    expect(await found('eval')).toEqual([{ id: 'e1' }]);
    expect(await found('größe')).toEqual([{ id: 'e1' }]);
  });

  it('finds records by tag from an index, also where the searches had been migrated without it', async () => {
    const indexed = `SELECT indexname FROM pg_indexes WHERE indexname = 'records_tags'`;
    await upgraded.query('DROP INDEX records_tags');
    const runner = upgraded.createQueryRunner();
    for (let i = 0; i < 2; i++) await new EvaluationRecordTags1795132800990().up(runner);
    await runner.release();
    expect(await rows(indexed)).toHaveLength(1);
  });

  it('lets the account of the first start into every workspace, and others where they were', async () => {
    const accounts = 'SELECT service_account_id, workspace_ids FROM service_accounts ORDER BY 1';
    expect(await rows(accounts)).toEqual([
      { service_account_id: 'a', workspace_ids: ['*'] },
      { service_account_id: 'b', workspace_ids: ['w'] },
    ]);
  });
});
