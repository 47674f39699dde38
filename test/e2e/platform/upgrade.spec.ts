import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '#testing';
import { migrate } from '../../../src/database/migrate';
import { MIGRATIONS } from '../../../src/database/migrations';
import { EvaluationScoring1795132800700 } from '../../../src/database/migrations/1795132800700-evaluation-scoring';

const FIRST = MIGRATIONS.slice(0, MIGRATIONS.indexOf(EvaluationScoring1795132800700) + 1);
const BY = `'2026-11-20', '2026-11-20', 'bootstrap'`;

describe('a database of the first schema', () => {
  let database: TestDatabase;
  let session: Client;
  let name: string;
  let url: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    session = new Client({ connectionString: database.url });
    await session.connect();
    name = `${new URL(database.url).pathname.slice(1)}_first`;
    await session.query(`CREATE DATABASE ${name}`);
    url = Object.assign(new URL(database.url), { pathname: name }).toString();
  });
  afterAll(async () => {
    await session.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await session.end();
    await database.drop();
  });

  it('is brought to the present one with all that is in it', async () => {
    const old = await new DataSource({
      type: 'postgres',
      url,
      migrations: FIRST,
      migrationsTableName: 'migrations',
      installExtensions: false,
    }).initialize();
    await old.runMigrations();
    await old.query(`
      INSERT INTO organizations (org_id, name, created_at, updated_at, created_by) VALUES ('o', 'default', ${BY});
      INSERT INTO service_accounts (service_account_id, org_id, name, roles, workspace_ids, created_at, updated_at, created_by)
        VALUES ('a', 'o', 'default', '{owner}', '{w}', ${BY}), ('b', 'o', 'another', '{owner}', '{w}', ${BY});
      INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, input)
        VALUES ('w', 't', '2026-11-20', '2026-11-20', 1, 0, '{}', '"asked"'), ('w', 'u', '2026-11-20', '2026-11-20', 1, 0, '{}', NULL);
      INSERT INTO spans (workspace_id, trace_id, span_id, name, kind, status_code, started_at, ended_at, source_id, model,
                         input_tokens, cost_usd, attributes)
        SELECT 'w', 't', n::text, 'step', 'client', 'unset', now(), now(), '00000000-0000-0000-0000-000000000001', model,
               tokens, cost, attributes
        FROM (VALUES (1, 'a', 20, 0.1, '{"gen_ai.operation.name": "chat"}'::json),
                     (2, 'a', 10, 0.2, '{}'),
                     (3, 'a', 30, 0.3, '{"openinference.span.kind": "AGENT"}'),
                     (4, 'b', 35, NULL, '{"gen_ai.operation.name": "", "ai.operationId": "ai.generateText"}'),
                     (5, NULL, 5, NULL, '{}'),
                     (6, NULL, NULL, NULL, '{}')) AS span(n, model, tokens, cost, attributes);
    `);
    await migrate(url);
    const used =
      'SELECT model, input_tokens::int AS calls, cost_usd::float AS cost, step_input_tokens::int AS steps FROM trace_models ORDER BY 1';
    expect(await old.query(used)).toEqual([
      { model: '', calls: 5, cost: null, steps: null },
      { model: 'a', calls: 30, cost: 0.3, steps: 30 },
      { model: 'b', calls: null, cost: null, steps: 35 },
    ]);
    expect(await old.query('SELECT trace_id, content_size FROM traces ORDER BY 1')).toEqual([
      { trace_id: 't', content_size: 7 },
      { trace_id: 'u', content_size: 0 },
    ]);
    const accounts = 'SELECT service_account_id, workspace_ids FROM service_accounts ORDER BY 1';
    expect(await old.query(accounts)).toEqual([
      { service_account_id: 'a', workspace_ids: ['*'] },
      { service_account_id: 'b', workspace_ids: ['w'] },
    ]);
    const applied = await old.query<unknown[]>('SELECT FROM migrations');
    expect(applied).toHaveLength(MIGRATIONS.length);
    await old.destroy();
  });
});
