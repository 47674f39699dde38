import { type ApiClient, ownApp } from '#testing';
import { type Work, workOf } from '../evaluation/work.harness';
import { ModelDirectory } from '../../../src/model-gateway/models/model-directory';
import { created, GatewayFixture, KEYS, MODELS, PROVIDERS } from './gateway.fixture';

const ROWS = 20_000;
/** One of this many rows belongs to the workspace of the reader. */
const WORKSPACES = 200;
const OWN = ROWS / WORKSPACES;
const LIMIT = 10;
/** Rows that the nodes of a plan may process for each row of a page: index, table, sort and joins. */
const EACH = 12;

/** The SQL expression for the id of a copy. */
const COPY = `'copy_' || lpad(n::text, 26, '0')`;

/** Queries read few more rows than they return, even right after tables were loaded and before they are analyzed. */
describe('queries on freshly loaded tables', () => {
  const app = ownApp({ autovacuum: false });
  let on: GatewayFixture;
  let reader: ApiClient;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    reader = await on.memberOf(on.org.workspaceId, 'admin');
    const { workspaceId: workspace_id } = on.org;
    const base_url = 'https://orders.example.com/v2';
    created(await on.admin.post('/registry/v1/apis', { workspace_id, name: 'one', base_url }));
    created(await on.model());
    created(await on.key());
    await copyRows('workspaces', 'workspace_id', {}, WORKSPACES);
    await copyRows('service_accounts', 'service_account_id');
    await copyRows('apis', 'api_id');
    await copyRows('model_providers', 'provider_id');
    await copyRows('models', 'model_id');
    await copyRows('api_keys', 'key_id', { hash: "decode(md5(n::text), 'hex')", service_account_id: COPY });
    await copyRows('gateway_keys', 'key_id', { service_account_id: COPY });
    await app.database.query(
      `INSERT INTO model_usage (workspace_id, day, model_id, principal_id, provider_id, upstream_model, org_id, call_count,
         failed_count, cached_count, attempts, failed_attempts, unpriced_count, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cost_usd, estimated_count, estimated_usd)
       SELECT w.workspace_id, date_trunc('month', now())::date - 400 + n % 400, 'model_' || n, 'user', 'prov', 'm', w.org_id,
         1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0
       FROM generate_series(1, ${ROWS}) n, workspaces w WHERE w.workspace_id = $1`,
      [workspace_id],
    );
    await app.database.query(
      `INSERT INTO model_usage (workspace_id, day, model_id, principal_id, provider_id, upstream_model, org_id, call_count,
         failed_count, cached_count, attempts, failed_attempts, unpriced_count, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cost_usd, estimated_count, estimated_usd)
       SELECT w.workspace_id, date_trunc('month', now())::date, 'model_' || n, 'user', 'prov', 'm', w.org_id,
         1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0
       FROM generate_series(1, ${OWN}) n, workspaces w WHERE w.workspace_id = $1`,
      [workspace_id],
    );
  });

  /** Copies a row of a table into many workspaces. @param others the expressions for other columns */
  async function copyRows(
    table: string,
    id: string,
    others: Record<string, string> = {},
    rows = ROWS,
  ): Promise<void> {
    const columns = await app.database.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_name = $1 AND table_schema = 'public' AND is_generated = 'NEVER'`,
      [table],
    );
    const expressions: Record<string, string> = {
      name: `t.name || ' ' || n`,
      workspace_id: `CASE n % ${WORKSPACES} WHEN 0 THEN t.workspace_id ELSE ${COPY.replace('n::', `(n % ${WORKSPACES})::`)} END`,
      ...others,
      [id]: COPY,
    };
    const names = columns.map(({ name }) => name);
    await app.database.query(
      `INSERT INTO ${table} (${names.join(', ')})
       SELECT ${names.map((name) => expressions[name] ?? `t.${name}`).join(', ')}
       FROM (SELECT * FROM ${table} LIMIT 1) t, generate_series(1, ${rows}) n`,
    );
  }

  async function worksOf(table: string, path: string, count: number): Promise<Work[]> {
    let items: unknown[] = [];
    const works = await workOf(app.database, async () => {
      const { status, body } = await reader.get(path);
      expect(status).toBe(200);
      items = body.items as unknown[];
    });
    expect(items).toHaveLength(count);
    const reading = works.filter(({ statement }) =>
      new RegExp(`\\bFROM \\(?.*${table}\\b`, 's').test(statement),
    );
    expect(reading.length).toBeGreaterThan(0);
    return reading;
  }

  const expectLight = (works: Work[], most: number): void => {
    const heavy = works.filter(({ rows }) => rows > most);
    if (heavy.length > 0) throw new Error(JSON.stringify(heavy, null, 1).slice(0, 20_000));
  };

  it.each([
    ['apis', '/registry/v1/apis'],
    ['model_providers', PROVIDERS],
    ['models', MODELS],
    ['gateway_keys', KEYS],
  ])('read few more rows than the list of %s returns or counts', async (table, path) => {
    const { workspaceId } = on.org;
    for (const query of [
      '',
      'sort=name&',
      'sort=updated_at&',
      'offset=50&',
      `workspace_id=${workspaceId}&`,
    ]) {
      const works = await worksOf(table, `${path}?${query}limit=${LIMIT}`, LIMIT);
      const counts = works.filter(({ statement }) => /count\(/.test(statement));
      expectLight(counts, (OWN + 1) * EACH);
      const skipped = query.startsWith('offset') ? 50 : 0;
      const pages = works.filter((one) => !counts.includes(one));
      // a page without an index for its sort processes all rows of the workspace
      expectLight(pages, (OWN + LIMIT + skipped) * EACH);
    }
  });

  it('look up the model of a call by name and by id', async () => {
    const { model_id, name } = created(await on.model()).body as Record<string, string>;
    const directory = app.get(ModelDirectory);
    for (const one of [name!, model_id!]) {
      for (const find of [
        () => directory.find(on.org.orgId, one),
        () => directory.findIn(on.org.workspaceId, one),
      ]) {
        let row: unknown;
        const works = await workOf(app.database, async () => (row = await find()));
        expect(row).toBeTruthy();
        // so few workspaces may be read completely
        expectLight(works, WORKSPACES + EACH);
      }
    }
  });

  it('read only the days that the usage sums up', async () => {
    for (const query of ['', 'group_by=day,model,provider&', `workspace_id=${on.org.workspaceId}&`]) {
      const works = await worksOf('model_usage', `/model/v1/usage?${query}limit=${LIMIT}`, LIMIT);
      expectLight(works, OWN * EACH);
    }
  });
});
