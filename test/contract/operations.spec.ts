import { randomBytes } from 'node:crypto';
import {
  newSpan,
  jsonExport,
  type ApiClient,
  ownApp,
  newOrganization,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { register, Upstream } from '../e2e/api-proxy/upstream.fixture';
import { FakeMcpServer } from '../e2e/mcp-servers/fake-mcp-server.fixture';
import { chat, FakeProvider, json, message, modelOf } from '../e2e/model-gateway/provider.fixture';

/**
 * Calls every operation of the OpenAPI document until it has returned each of its 2xx statuses. The clients check each
 * response against the document. The last test fails if an operation is not called here.
 */
describe('every operation', () => {
  const price = { input_usd_per_million: 1, output_usd_per_million: 2 };
  const app = ownApp({
    env: { OUTBOUND_ALLOW: '127.0.0.0/8', MODEL_PRICES: JSON.stringify({ 'gpt-test': price }) },
  });
  let organization: TestOrganization;
  let admin: ApiClient;
  let evaluator: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    organization = await newOrganization(app);
    workspace_id = organization.workspaceId;
    admin = await organization.member('owner');
    evaluator = await organization.as('evaluator');
  });

  const expectAll = async (answers: Promise<{ status: number }>[], status: number): Promise<void> => {
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual(answers.map(() => status));
  };

  const archiveAndRestore = async (by: ApiClient, path: string): Promise<void> => {
    await expectAll([by.post(`${path}/archive`)], 200);
    await expectAll([by.post(`${path}/restore`)], 200);
  };

  /** Deletes a resource once it is archived, after versions of it. */
  const archiveAndDelete = async (path: string, ...versions: number[]): Promise<void> => {
    await expectAll(
      versions.map((one) => admin.delete(`${path}/versions/${one}`)),
      204,
    );
    await expectAll([admin.post(`${path}/archive`)], 200);
    await expectAll([admin.delete(path)], 204);
  };

  /** Deletes a resource of the workspace after archiving it, even if something uses it. */
  const removeArchived = async (path: string, status: 202 | 204): Promise<void> => {
    await expectAll([evaluator.post(`${path}/archive`)], 200);
    await expectAll([admin.in(workspace_id).delete(`${path}?force=true`)], status);
  };

  it('responds as documented: health checks and public keys', async () => {
    await expectAll(
      ['/health/live', '/health/ready', '/.well-known/jwks.json'].map((path) => app.api().get(path)),
      200,
    );
  });

  it('responds as documented: the MCP endpoint', async () => {
    const documents = [
      'oauth-authorization-server',
      'oauth-protected-resource',
      'oauth-protected-resource/mcp',
    ];
    await expectAll(
      documents.map((name) => app.api().get(`/.well-known/${name}`)),
      200,
    );
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    await expectAll([admin.post('/mcp', message), admin.post('/mcp', [message])], 200);
    await expectAll([admin.post('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' })], 202);
    await expectAll([admin.post('/mcp', '{')], 400);
    await expectAll([admin.post('/mcp', message, { accept: 'text/html' })], 406);
  });

  it('responds as documented: search', async () => {
    const bodies = ['keyword', 'vector', 'hybrid'].map((mode) => ({ mode, query: 'agents', limit: 1 }));
    await expectAll(
      bodies.map((body) => admin.post('/registry/v1/search', body)),
      200,
    );
  });

  it('responds as documented: erasures', async () => {
    const [subject, erasures] = [{ kind: 'end_user', id: 'nobody' }, '/registry/v1/erasures'];
    const made = await admin.post(erasures, { subject, workspace_id });
    await expectAll([admin.post(erasures, { subject, workspace_id, dry_run: true })], 202);
    expect(made.status).toBe(202);
    await expectAll([admin.get(made.headers.get('location')!), admin.get(erasures)], 200);
    await expectAll([admin.post(erasures, { subject, workspace_id })], 409);
    const traces = '/telemetry/v1/traces/delete';
    await expectAll([admin.in(workspace_id).post(traces, { trace_ids: [newTraceId()] })], 202);
    const workspace = await admin.post('/registry/v1/workspaces', { name: 'to be deleted' });
    const path = workspace.headers.get('location')!;
    await expectAll([admin.delete(path)], 409);
    await expectAll([admin.post(`${path}/archive`)], 200);
    await expectAll([admin.delete(path)], 202);
    await expectAll([admin.post(`${path}/restore`)], 409);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    const [own, other] = [await newOrganization(app), await newOrganization(app)];
    const erased = await (await own.member('owner')).delete('/registry/v1/org');
    expect(erased.status).toBe(202);
    await expectAll([platform.get(erased.headers.get('location')!)], 200);
    await expectAll([platform.patch(`/registry/v1/orgs/${own.orgId}`, { status: 'active' })], 409);
    await expectAll([platform.delete(`/registry/v1/orgs/${other.orgId}`)], 202);
  });

  it('responds as documented: organizations and users', async () => {
    await expectAll(
      [admin.get('/registry/v1/me'), admin.get('/registry/v1/org'), admin.get('/registry/v1/usage')],
      200,
    );
    await expectAll([admin.patch('/registry/v1/org', { name: 'Acme' })], 200);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    const made = await platform.post('/registry/v1/orgs', { name: 'another' });
    expect(made.status).toBe(201);
    await expectAll(
      [platform.get('/registry/v1/orgs'), platform.get(`/registry/v1/orgs/${made.body.org_id}`)],
      200,
    );
    await expectAll([platform.patch(`/registry/v1/orgs/${made.body.org_id}`, { status: 'suspended' })], 200);
    const user = await admin.post('/registry/v1/users', {
      user_id: 'ada',
      display_name: 'Ada',
      email: 'ada@example.com',
    });
    expect(user.status).toBe(201);
    await expectAll([admin.get('/registry/v1/users'), admin.get('/registry/v1/users/ada')], 200);
    await expectAll([admin.patch('/registry/v1/users/ada', { display_name: 'Ada L.' })], 200);
    await expectAll([admin.delete('/registry/v1/users/ada')], 204);
  });

  it('responds as documented: workspaces and their members', async () => {
    const made = await admin.post('/registry/v1/workspaces', { name: 'second' });
    expect(made.status).toBe(201);
    const path = `/registry/v1/workspaces/${made.body.workspace_id}`;
    await expectAll([admin.get('/registry/v1/workspaces'), admin.get(path)], 200);
    await expectAll([admin.patch(path, { description: 'for trials' })], 200);
    await admin.post('/registry/v1/users', { user_id: 'grace' });
    const member = `${path}/members/grace`;
    await expectAll([admin.put(member, { roles: ['viewer'] })], 201);
    await expectAll([admin.put(member, { roles: ['editor'] })], 200);
    await expectAll([admin.get(member), admin.get(`${path}/members`)], 200);
    await expectAll([admin.delete(member)], 204);
    await archiveAndRestore(admin, path);
  });

  it('responds as documented: MCP servers and apps', async () => {
    const url = 'https://mcp.example.invalid/mcp';
    const tools = [{ name: 'search', input_schema: { type: 'object' } }];
    const made = await admin.post('/mcp/v1/servers', { workspace_id, name: 'tickets', url, tools });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([admin.patch(path, { auth: { type: 'bearer', value: 'secret' } })], 200);
    const [tool] = (await admin.get(`${path}/tools`)).body.items as { tool_id: string }[];
    await expectAll(
      [
        '/mcp/v1/servers',
        path,
        `${path}/versions`,
        `${path}/versions/1`,
        `${path}/tools/${tool!.tool_id}`,
        `${path}/tools/${tool!.tool_id}/versions`,
        `${path}/tools/${tool!.tool_id}/versions/1`,
        `${path}/tools/${tool!.tool_id}/versions/1..1`,
        `${path}/checks`,
      ].map((one) => admin.get(one)),
      200,
    );
    const server = {
      name: 'com.example/imported',
      version: '1.0.0',
      description: 'Orders',
      remotes: [{ type: 'sse', url }],
    };
    await expectAll([admin.post('/mcp/v1/servers/import', { workspace_id, server })], 201);
    for (const registry of ['/mcp/v1/registry/v0/servers', '/mcp/v1/registry/v0.1/servers']) {
      const { name } = (await admin.get(registry)).body.servers[0].server as { name: string };
      const versions = `${registry}/${encodeURIComponent(name)}/versions`;
      await expectAll([admin.get(versions), admin.get(`${versions}/latest`)], 200);
    }
    const remote = await FakeMcpServer.start();
    try {
      await expectAll([admin.post(`${path}/test`)], 200);
      await expectAll([admin.post(`${path}/refresh`)], 503);
      await expectAll([admin.patch(path, { url: remote.url, auth: null })], 200);
      await expectAll([admin.post(`${path}/test`), admin.post(`${path}/refresh`)], 200);
      await expectAll([admin.get(`${path}/checks`)], 200);
    } finally {
      await remote.close();
    }
    await archiveAndRestore(admin, path);
    await archiveAndDelete(path, 1);
    const resources = [{ kind: 'mcp_server', name: 'orders', spec: { url } }];
    const declared = await admin.post('/registry/v1/apps', { workspace_id, app: 'support', resources });
    expect(declared.status).toBe(201);
    const appPath = declared.headers.get('location')!;
    await expectAll([admin.post(`${appPath}/plan`), admin.post(`${appPath}/reconcile`)], 200);
    await expectAll([admin.get('/registry/v1/apps'), admin.get(appPath)], 200);
    const conflicting = [...resources, { kind: 'mcp_server', name: 'tickets', spec: { url } }];
    await admin.post('/mcp/v1/servers', { workspace_id, name: 'tickets', url });
    await expectAll([admin.patch(appPath, { resources: conflicting })], 200);
    expect((await admin.post(`${appPath}/reconcile`)).status).toBe(422);
    await expectAll([admin.get(appPath)], 200);
    await archiveAndRestore(admin, appPath);
    await archiveAndDelete(appPath);
  });

  it('responds as documented: registered APIs', async () => {
    const made = await admin.post('/registry/v1/apis', {
      workspace_id,
      name: 'orders',
      base_url: 'https://orders.example.com/v2',
      auth: { type: 'header', name: 'X-Api-Key', value: 'secret' },
      headers: { 'X-Zone': 'eu' },
    });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    const limits = { requests_per_minute: 60, max_in_flight: null, headers: { 'X-Zone': null } };
    await expectAll([admin.patch(path, limits)], 200);
    await expectAll(
      ['/registry/v1/apis', path, `${path}/versions`, `${path}/versions/1`].map((one) => admin.get(one)),
      200,
    );
    await archiveAndRestore(admin, path);
    await archiveAndDelete(path, 1);
  });

  it('responds as documented: the model gateway', async () => {
    const made = await admin.post('/model/v1/providers', {
      workspace_id,
      name: 'openai',
      kind: 'openai',
      api_key: 'secret',
    });
    const { provider_id } = made.body as { provider_id: string };
    const price = { input_usd_per_million: 1, output_usd_per_million: 2, cached_input_usd_per_million: 0.5 };
    const model = await admin.post('/model/v1/models', {
      workspace_id,
      name: 'assistant',
      targets: [{ provider_id, upstream_model: 'gpt-4o', price }],
    });
    const key = await admin.post('/model/v1/keys', { workspace_id, name: 'bot', models: ['assistant'] });
    expect([made.status, model.status, key.status]).toEqual([201, 201, 201]);
    const [provider, path, keyPath] = [made, model, key].map(({ headers }) => headers.get('location')!);
    const budget = `/model/v1/budgets/${workspace_id}`;
    await expectAll(
      [
        admin.patch(provider!, { description: 'of the team', headers: { 'X-Zone': 'eu' } }),
        admin.patch(path!, { retries: 0, cache_ttl_seconds: 60 }),
        admin.patch(keyPath!, { monthly_budget_usd: 5 }),
        admin.put(budget, { monthly_budget_usd: 100 }),
      ],
      200,
    );
    const read = ['/model/v1/providers', provider!, '/model/v1/models', path!, '/model/v1/keys', keyPath!];
    const usage = '/model/v1/usage?group_by=day,model,provider';
    await expectAll(
      [...read, '/model/v1/models/assistant', budget, usage].map((one) => admin.get(one)),
      200,
    );
    const bot = app.api(key.body.key as string);
    await expectAll([bot.get('/model/v1/keys/current'), bot.get('/model/v1/models')], 200);
    await archiveAndRestore(admin, provider!);
    await archiveAndRestore(admin, path!);
    await expectAll([admin.post(`${keyPath!}/revoke`)], 200);
    await archiveAndDelete(path!);
    await archiveAndDelete(provider!);
    await expectAll([admin.delete(keyPath!)], 204);
  });

  it('responds as documented: model calls', async () => {
    const provider = await FakeProvider.listen();
    try {
      const base = '/model/v1';
      const openai = await modelOf(admin, workspace_id, provider);
      const anthropic = await modelOf(admin, workspace_id, provider, { kind: 'anthropic' });
      const messages = [{ role: 'user', content: 'Hi' }];
      const bodies = [{ messages }, { messages, stream: true }];
      for (const body of bodies) {
        await expectAll([admin.post(`${base}/chat/completions`, { model: openai, ...body })], 200);
        await expectAll([admin.post(`${base}/messages`, { model: openai, max_tokens: 9, ...body })], 200);
      }
      provider.answer = (_call, response) =>
        json(response, { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }] });
      await expectAll([admin.post(`${base}/embeddings`, { model: openai, input: 'Hi' })], 200);
      await expectAll([admin.post(`${base}/messages/count_tokens`, { model: openai, messages })], 200);
      provider.answer = (_call, response) => json(response, message([{ type: 'text', text: 'Hello' }]));
      await expectAll([admin.post(`${base}/responses`, { model: anthropic, input: 'Hi' })], 200);
      provider.answer = chat('Hello');
      const refused = { ...bodies[0], model: openai, stream: 'true' };
      await expectAll([admin.post(`${base}/chat/completions`, refused)], 400);
      await expectAll([admin.post(`${base}/messages`, { model: 'unknown', messages })], 404);
      await expectAll([app.api().post(`${base}/embeddings`, { model: openai, input: 'Hi' })], 401);
    } finally {
      await provider.close();
    }
  });

  it('responds as documented: service accounts, API keys and tokens', async () => {
    const made = await admin.post('/registry/v1/service-accounts', {
      name: 'ci',
      roles: ['evaluator'],
      workspace_ids: [workspace_id],
    });
    expect(made.status).toBe(201);
    const path = `/registry/v1/service-accounts/${made.body.service_account_id}`;
    await expectAll([admin.get('/registry/v1/service-accounts'), admin.get(path)], 200);
    await expectAll([admin.patch(path, { description: 'runs in CI' })], 200);
    const key = await admin.post(`${path}/keys`, { name: 'first' });
    expect(key.status).toBe(201);
    await expectAll([admin.get(`${path}/keys`), admin.get(`${path}/keys/${key.body.key_id}`)], 200);
    const token = await app.api().post('/registry/v1/tokens', {
      grant_type: 'client_credentials',
      client_id: made.body.service_account_id,
      client_secret: key.body.key,
    });
    expect(token.status).toBe(200);
    await expectAll([admin.post('/registry/v1/tokens/revoke', { token: token.body.access_token })], 200);
    await expectAll([admin.post(`${path}/keys/${key.body.key_id}/revoke`)], 200);
    await archiveAndRestore(admin, path);
    await expectAll([admin.delete(`${path}/keys/${key.body.key_id}`)], 204);
    await archiveAndDelete(path);
  });

  it('responds as documented: signing keys', async () => {
    const made = await admin.post('/registry/v1/org/signing-keys', { name: 'releases' });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([admin.get('/registry/v1/org/signing-keys'), admin.get(path)], 200);
    await expectAll([admin.post(`${path}/revoke`)], 200);
  });

  it('responds as documented: repositories and the audit log', async () => {
    const body = { workspace_id, url: 'git@github.com:acme/agents.git' };
    const made = await admin.post('/registry/v1/repos', body);
    expect(made.status).toBe(201);
    await expectAll([admin.post('/registry/v1/repos', body)], 200);
    const path = made.headers.get('location')!;
    await expectAll([admin.get('/registry/v1/repos'), admin.get(path)], 200);
    await expectAll([admin.patch(path, { visibility: 'private' })], 200);
    await archiveAndRestore(admin, path);
    await archiveAndDelete(path);
    await expectAll([admin.get('/registry/v1/audit-log')], 200);
  });

  it('responds as documented: agents and their sessions', async () => {
    const made = await admin.post('/agent/v1/agents', { workspace_id, name: 'planner', model: 'gpt-5' });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([admin.patch(path, { instructions: 'Plan.' })], 200);
    await expectAll(
      ['/agent/v1/agents', path, `${path}/versions`, `${path}/versions/1`, `${path}/card`].map((one) =>
        admin.get(one),
      ),
      200,
    );
    const session = await admin.post(`${path}/sessions`, { prompt: 'Hello', title: 'First' });
    expect(session.status).toBe(201);
    const sessionPath = session.headers.get('location')!;
    await expectAll([admin.patch(sessionPath, { title: 'Second' })], 200);
    const reply = { role: 'assistant', content: null, tool_calls: [{ name: 'search' }] };
    const message = await admin.post(`${sessionPath}/messages`, reply);
    expect(message.status).toBe(201);
    await expectAll(
      ['/agent/v1/sessions', sessionPath, `${sessionPath}/traces`, `${sessionPath}/messages`].map((one) =>
        admin.get(one),
      ),
      200,
    );
    await expectAll([admin.get(message.headers.get('location')!)], 200);
    await archiveAndRestore(admin, sessionPath);
    await expectAll([admin.put(`${path}/labels/production`, { version_ordinal: 1 })], 200);
    await expectAll([admin.delete(`${path}/labels/production`)], 204);
    await archiveAndRestore(admin, path);
    await expectAll([admin.delete(message.headers.get('location')!)], 204);
    await expectAll([admin.delete(sessionPath)], 204);
    await archiveAndDelete(path, 1);
  });

  it('responds as documented: datasets and records', async () => {
    const made = await evaluator.post('/eval/v1/datasets', { workspace_id, name: 'cases' });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([evaluator.get('/eval/v1/datasets'), evaluator.get(path)], 200);
    await expectAll([evaluator.patch(path, { description: 'sums' })], 200);
    await expectAll([evaluator.post('/eval/v1/datasets/search', { metadata: {}, sort: 'name' })], 200);
    const record = await evaluator.post(`${path}/records`, {
      workspace_id,
      input: { question: '1 + 1' },
      expected: 2,
    });
    expect(record.status).toBe(201);
    const recordPath = record.headers.get('location')!;
    const bulk = await evaluator.post(`${path}/records/bulk`, { workspace_id, items: [{ input: 1 }, {}] });
    expect(bulk.status).toBe(207);
    await expectAll([evaluator.patch(recordPath, { expected: 3 })], 200);
    const file = await evaluator.get<string>(`${path}/records/export?format=csv`);
    const lines = await evaluator.get<string>(`${path}/records/export`);
    expect([file.status, lines.status]).toEqual([200, 200]);
    const imports = {
      'text/csv': file.body,
      'application/jsonl': lines.body,
      'application/x-ndjson': lines.body,
    };
    await expectAll(
      Object.entries(imports).map(([media, body]) =>
        evaluator.post(`${path}/records/import`, body, { 'content-type': media }),
      ),
      200,
    );
    const span = newSpan({ attributes: { 'input.value': '1 + 1' } });
    await expectAll([evaluator.post('/telemetry/v1/traces', jsonExport([span]))], 200);
    const fromTraces = { workspace_id, trace_ids: [span.traceId] };
    await expectAll([evaluator.post(`${path}/records/from-traces`, fromTraces)], 207);
    const reads = [`${path}/records`, recordPath, `${recordPath}/versions`, `${recordPath}/versions/1`];
    await expectAll(
      reads.map((one) => evaluator.get(one)),
      200,
    );
    await archiveAndRestore(evaluator, recordPath);
    await expectAll([admin.in(workspace_id).delete(recordPath)], 204);
    const csv = 'question,answer\r\n1 + 1,2\r\n';
    const version = await evaluator.post(`${path}/versions`, csv, { 'content-type': 'text/csv' });
    expect(version.status).toBe(201);
    await expectAll([evaluator.post(`${path}/versions`, { workspace_id, content: csv })], 200);
    const versionPath = version.headers.get('location')!;
    await expectAll(
      [`${path}/versions`, versionPath, `${versionPath}/content`, `${versionPath}/rows`].map((one) =>
        evaluator.get(one),
      ),
      200,
    );
    await expectAll([admin.in(workspace_id).delete(versionPath)], 204);
    await archiveAndRestore(evaluator, path);
    await removeArchived(path, 202);
  });

  it('responds as documented: skills', async () => {
    const members = { description: 'Adds.', instructions: '# How' };
    const made = await admin.post('/skill/v1/skills', { workspace_id, name: 'sums', ...members });
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([admin.get('/skill/v1/skills'), admin.get(path)], 200);
    await expectAll([admin.patch(path, { allowed_tools: ['Read'], metadata: { a: 1 } })], 200);
    const version = await admin.post(`${path}/versions`, members);
    expect(version.status).toBe(201);
    await expectAll([admin.post(`${path}/versions`, members)], 200);
    const versionPath = version.headers.get('location')!;
    const reads = [
      ...['/versions', '/versions/1/SKILL.md', '/versions/1/skill.zip'].map((one) => path + one),
      ...[versionPath, `${versionPath}/content`, '/skill/v1/index.json'],
    ];
    await expectAll(
      reads.map((one) => admin.get(one)),
      200,
    );
    await expectAll([admin.put(`${path}/labels/production`, { version_ordinal: 1 })], 200);
    await expectAll([admin.delete(`${path}/labels/production`)], 204);
    await archiveAndRestore(admin, path);
    await archiveAndDelete(path, 1);
  });

  it('responds as documented: files', async () => {
    const type = { 'content-type': 'text/csv' };
    const query = new URLSearchParams({ workspace_id, name: 'cases.csv' });
    const made = await admin.post(`/file/v1/files?${query.toString()}`, Buffer.from('id\n1\n'), type);
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    await expectAll([admin.get('/file/v1/files'), admin.get(path)], 200);
    await expectAll([admin.patch(path, { metadata: { team: 'search' } })], 200);
    const content = Buffer.from('id\n2\n');
    const version = await admin.post(`${path}/versions`, content, type);
    expect(version.status).toBe(201);
    await expectAll([admin.post(`${path}/versions`, content, type)], 200);
    const versionPath = version.headers.get('location')!;
    const contents = [`${path}/content`, `${versionPath}/content`];
    await expectAll(
      [`${path}/versions`, versionPath, ...contents].map((one) => admin.get(one)),
      200,
    );
    await expectAll(
      contents.map((one) => admin.get(one, { range: 'bytes=0-1' })),
      206,
    );
    await archiveAndRestore(admin, path);
    await archiveAndDelete(path, 1);
  });

  it('responds as documented: experiments, results, traces, scorers and scoring', async () => {
    const experiment = await evaluator.post('/eval/v1/experiments', {
      workspace_id,
      name: 'sums',
      config: { m: 1 },
    });
    expect(experiment.status).toBe(201);
    const path = experiment.headers.get('location')!;
    await expectAll(
      [evaluator.post('/eval/v1/experiments', { workspace_id, name: 'sums', resume: true })],
      200,
    );
    await expectAll([evaluator.get('/eval/v1/experiments'), evaluator.get(path)], 200);
    const traceId = await exportTrace();
    const result = await evaluator.post(`${path}/results`, {
      workspace_id,
      case_id: '1',
      output: 2,
      expected: 2,
      trace_id: traceId,
      scores: { human: { score: true, comment: 'right' } },
    });
    expect(result.status).toBe(201);
    const bulk = await evaluator.post(`${path}/results/bulk`, {
      workspace_id,
      items: [{ case_id: '2' }, { case_id: '1' }],
    });
    expect(bulk.status).toBe(207);
    const again = { workspace_id, case_id: '2', on_conflict: 'replace', output: 3 };
    const resultPath = `${path}/results/${result.body.result_id}`;
    const changes = [evaluator.post(`${path}/results`, again), evaluator.patch(resultPath, { tags: ['t'] })];
    await expectAll(changes, 200);
    const mistake = await evaluator.post(`${path}/results`, {
      workspace_id,
      case_id: '3',
      scores: { human: 1 },
    });
    const { body: given } = await evaluator.get(`/eval/v1/scores?result_id=${mistake.body.result_id}`);
    await expectAll([admin.in(workspace_id).delete(`/eval/v1/scores/${given.items[0].score_id}`)], 204);
    await expectAll([admin.in(workspace_id).delete(mistake.headers.get('location')!)], 204);
    const reads = [
      'results',
      'results/export',
      'results/export?format=csv',
      `results/${result.body.result_id}`,
      'traces',
      `traces/${traceId}`,
      `traces/${traceId}/spans`,
    ];
    await expectAll(
      reads.map((one) => evaluator.get(`${path}/${one}`)),
      200,
    );
    await readCases();
    await readTelemetry(traceId);
    await expectAll([evaluator.post(`${path}/traces/stats/query`, { group_by: ['model'] })], 200);
    await score(experiment.body.experiment_id as string);
    await scoreByHand(result.body.result_id as string);
    await expectAll([evaluator.patch(path, { experiment_status: 'completed', metrics: { cases: 2 } })], 200);
    await compare(path, experiment.body.experiment_id as string);
    const selection = { config: { m: 1 }, score: { scorer: 'human', gte: 1 } };
    await expectAll([evaluator.post('/eval/v1/experiments/search', selection)], 200);
    const remove = admin.in(workspace_id).delete(`/telemetry/v1/traces/${traceId}?force=true`);
    await expectAll([remove], 204);
    await archiveAndRestore(evaluator, path);
    await removeArchived(path, 202);
  });

  async function readCases(): Promise<void> {
    const { body: dataset } = await evaluator.post('/eval/v1/datasets', { workspace_id, name: 'cases' });
    const { dataset_id } = dataset as { dataset_id: string };
    const record = { workspace_id, input: '1 + 1', expected: 2, metadata: { a: 1 }, tags: ['t'] };
    expect((await evaluator.post(`/eval/v1/datasets/${dataset_id}/records`, record)).status).toBe(201);
    const fields = { workspace_id, name: 'trials', dataset_id, trials: 2 };
    const made = await evaluator.post('/eval/v1/experiments', fields);
    expect(made.status).toBe(201);
    const path = made.headers.get('location')!;
    const { body: cases } = await evaluator.get(`${path}/cases?state=pending`);
    const { case_id, dataset_record_id } = cases.items[0];
    const result = { workspace_id, case_id: `${case_id}#1`, dataset_record_id, scores: { s: 1 } };
    expect((await evaluator.post(`${path}/results`, result)).status).toBe(201);
    await expectAll([evaluator.get(`${path}/cases`), evaluator.get(`${path}/trials?scorer=s&k=1`)], 200);
  }

  /** Exports one trace of two spans by OTLP/JSON. */
  async function exportTrace(): Promise<string> {
    const traceId = randomBytes(16).toString('hex');
    const span = (spanId: string, parentSpanId: string, name: string) => ({
      traceId,
      spanId,
      parentSpanId,
      name,
      kind: 1,
      startTimeUnixNano: '1795132800000000000',
      endTimeUnixNano: '1795132801000000000',
      attributes: [
        { key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o' } },
        { key: 'session.id', value: { stringValue: 'a/b' } },
      ],
      events: [{ timeUnixNano: '1795132800500000000', name: 'thought' }],
    });
    const spans = [
      span('00f067aa0ba902b7', '', 'root'),
      span('00f067aa0ba902b8', '00f067aa0ba902b7', 'child'),
    ];
    const answer = await evaluator.post('/telemetry/v1/traces', {
      resourceSpans: [{ scopeSpans: [{ spans }] }],
    });
    expect(answer.status).toBe(200);
    return traceId;
  }

  async function readTelemetry(traceId: string): Promise<void> {
    const base = '/telemetry/v1';
    const reads = [
      'traces',
      `traces/${traceId}`,
      `traces/${traceId}/spans`,
      `traces/${traceId}/spans/export`,
    ];
    const sessions = ['sessions', 'sessions/a%2Fb', 'sessions/a%2Fb/traces', 'sessions/a%2Fb/transcript'];
    const logRecords = [{ body: { stringValue: 'done' } }];
    const metrics = [{ name: 'calls', gauge: { dataPoints: [{ asInt: 1, exemplars: [{ asInt: 1 }] }] } }];
    await expectAll(
      [
        evaluator.post(`${base}/logs`, { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
        evaluator.post(`${base}/traces/exists`, { trace_ids: [traceId, newTraceId()] }),
        evaluator.post(`${base}/traces/stats/query`, { group_by: ['day', 'session_id'] }),
        evaluator.post(`${base}/spans/stats/query`, { group_by: ['model', 'hour'] }),
        evaluator.post(`${base}/metrics`, { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }),
      ],
      200,
    );
    await expectAll(
      [...reads, ...sessions, 'logs', 'metrics'].map((one) => evaluator.get(`${base}/${one}`)),
      200,
    );
  }

  async function score(experimentId: string): Promise<void> {
    const scorer = await evaluator.post('/eval/v1/scorers', {
      workspace_id,
      name: 'exact',
      scorer_kind: 'code',
      definition: { language: 'javascript', source: 'function score(s) { return s.output === s.expected; }' },
    });
    expect(scorer.status).toBe(201);
    const path = scorer.headers.get('location')!;
    await expectAll([evaluator.patch(path, { description: 'equal or not' })], 200);
    const reads = ['/eval/v1/scorers', path, `${path}/versions`, `${path}/versions/1`];
    await expectAll(
      reads.map((one) => evaluator.get(one)),
      200,
    );
    const selection = { experiment_id: experimentId };
    await expectAll([evaluator.post(`${path}/score`, { ...selection, mode: 'test' })], 200);
    await expectAll([evaluator.post(`${path}/score`, { ...selection, mode: 'preview' })], 200);
    await scoreByRule(path);
    const run = await evaluator.post(`${path}/score`, selection);
    expect(run.status).toBe(202);
    const runPath = run.headers.get('location')!;
    await expectAll(
      ['/eval/v1/score-runs', runPath, `${runPath}/results`].map((one) => evaluator.get(one)),
      200,
    );
    await expectAll([evaluator.post(`${runPath}/cancel`)], 200);
    const scorers = [scorer.body.scorer_id];
    await expectAll([evaluator.post(`/eval/v1/experiments/${experimentId}/score`, { scorers })], 202);
    await scoreMany(path, selection);
    await archiveAndRestore(evaluator, path);
    await removeArchived(path, 204);
  }

  async function scoreMany(scorerPath: string, selection: object): Promise<void> {
    const batch = await evaluator.post(`${scorerPath}/batches`, selection);
    expect(batch.status).toBe(202);
    const path = batch.headers.get('location')!;
    await expectAll([evaluator.get('/eval/v1/score-batches'), evaluator.get(path)], 200);
    await expectAll([evaluator.post(`${path}/cancel`)], 200);
  }

  async function scoreByRule(scorerPath: string): Promise<void> {
    const rule = await evaluator.post(`${scorerPath}/rules`, {
      workspace_id,
      sample_rate: 0.1,
      filters: [{ field: 'status', op: 'eq', value: 'error' }],
    });
    expect(rule.status).toBe(201);
    const path = rule.headers.get('location')!;
    const lists = [evaluator.get(`${scorerPath}/rules`), evaluator.get('/eval/v1/scoring-rules')];
    await expectAll([...lists, evaluator.get(path)], 200);
    await expectAll([evaluator.patch(path, { enabled: false })], 200);
    await archiveAndRestore(evaluator, path);
    await removeArchived(path, 204);
  }

  async function scoreByHand(resultId: string): Promise<void> {
    await expectAll([evaluator.get('/eval/v1/scorer-starters')], 200);
    const scorer = await evaluator.post('/eval/v1/scorers', {
      workspace_id,
      name: 'kind',
      scorer_kind: 'human',
      definition: { rubric: 'Is it kind?', output: { type: 'boolean' } },
    });
    const made = await evaluator.post('/eval/v1/scores', {
      workspace_id,
      scorer_id: scorer.body.scorer_id,
      result_id: resultId,
      score: true,
    });
    expect(made.status).toBe(201);
    const items = [{ scorer_id: scorer.body.scorer_id, result_id: resultId, score: false }, {}];
    await expectAll([evaluator.post('/eval/v1/scores/bulk', { items })], 207);
    await expectAll([evaluator.get('/eval/v1/scores'), evaluator.get(made.headers.get('location')!)], 200);
    const stats = {
      group_by: [
        'scorer',
        'version',
        'source',
        'label',
        'day',
        'tag',
        'model',
        'service',
        'agent_version',
        'trace_day',
      ],
    };
    await expectAll([evaluator.post('/eval/v1/scores/stats/query', stats)], 200);
    await scoreByQueue(scorer.body.scorer_id as string, resultId);
  }

  async function scoreByQueue(scorer_id: string, resultId: string): Promise<void> {
    const { body: scored } = await evaluator.get(`/eval/v1/scores?result_id=${resultId}`);
    const queue = {
      workspace_id,
      name: 'by hand',
      scorer_ids: [scorer_id],
      source: { experiment_id: scored.items[0].experiment_id },
      scores_per_item: 1,
    };
    const made = await evaluator.post('/eval/v1/annotation-queues', queue);
    expect(made.status).toBe(201);
    await expectAll([evaluator.post('/eval/v1/annotation-queues?on_conflict=return', queue)], 200);
    const path = made.headers.get('location')!;
    const next = await evaluator.post(`${path}/next`, {});
    expect(next.status).toBe(200);
    const item = `${path}/items/${next.body.item.item_id}`;
    await expectAll([evaluator.post(`${item}/skip`, { reason: 'unclear' })], 200);
    await expectAll([evaluator.post(`${item}/scores`, { scores: [{ scorer_id, score: true }] })], 200);
    await expectAll([evaluator.patch(path, { description: 'by hand' })], 200);
    const reads = ['/eval/v1/annotation-queues', path];
    const parts = ['items', 'annotators', 'agreement'].map((one) => `${path}/${one}`);
    await expectAll(
      [...reads, ...parts].map((one) => evaluator.get(one)),
      200,
    );
    await archiveAndRestore(evaluator, path);
    await removeArchived(path, 204);
  }

  async function compare(baselinePath: string, baselineId: string): Promise<void> {
    const made = await evaluator.post('/eval/v1/experiments', {
      workspace_id,
      name: 'sums',
      baseline_experiment_id: baselineId,
    });
    const path = made.headers.get('location')!;
    const result = { case_id: '1', output: 3, expected: 2, scores: { human: 0 } };
    expect((await evaluator.post(`${path}/results`, { workspace_id, ...result })).status).toBe(201);
    await expectAll(
      [evaluator.get(`${path}/compare`), evaluator.get(`${path}/compare?only=regressed&scorer=human`)],
      200,
    );
    const rules = [{ scorer: 'human', max_regression: 0.1, min_mean: 0.5, min_count: 1, confident: true }];
    await expectAll(
      ['application/json', 'application/xml', 'text/xml', 'application/junit+xml', 'text/markdown'].map(
        (accept) => evaluator.post(`${path}/gate`, { rules }, { accept }),
      ),
      200,
    );
    const checked = evaluator.post(`${baselinePath}/gate`, { rules: [{ scorer: 's', min_mean: 0 }] });
    await expectAll([checked, evaluator.get(`${path}/gates`)], 200);
    const scorer = (name: string) =>
      evaluator.post('/eval/v1/scorers', {
        workspace_id,
        name,
        scorer_kind: 'code',
        definition: { checks: [{ type: 'equals' }] },
      });
    const [first, second] = [await scorer('one way'), await scorer('another')];
    const agreement = `${first.headers.get('location')}/agreement`;
    await expectAll([evaluator.get(`${agreement}?reference_scorer_id=${second.body.scorer_id}`)], 200);
  }

  it('responds as documented: the API proxy', async () => {
    const upstream = await Upstream.listen();
    try {
      const path = `${await register(admin, workspace_id, { base_url: upstream.url })}/v1/orders`;
      const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
      await expectAll(
        methods.map((method) => admin.request(method, path)),
        200,
      );
      upstream.answer = (_request, response) =>
        response.writeHead(409, { etag: '"theirs"' }).end('{"own": 1}');
      await expectAll(
        methods.map((method) => admin.request(method, path)),
        409,
      );
      await expectAll(
        methods.map((method) => admin.request(method, `${path}/a%5cb`)),
        400,
      );
      await expectAll(
        methods.map((method) => app.api().request(method, path)),
        401,
      );
    } finally {
      await upstream.close();
    }
  });

  it('responds as documented: the store', async () => {
    const skill = { workspace_id, name: 'published', description: 'd', instructions: 'i' };
    const { body } = await admin.post('/skill/v1/skills', skill);
    const made = await admin.post('/store/v1/publisher/items', {
      workspace_id,
      artifact: { kind: 'skill', artifact_id: body.skill_id },
      name: 'Published',
      category: 'skills',
      license: 'MIT',
      actions: ['install', 'download'],
    });
    expect(made.status).toBe(201);
    const own = made.headers.get('location')!;
    const item = `/store/v1/items/${made.body.store_item_id}`;
    const policy = { audience: { is_public: true }, is_listed: true, can_acquire: true };
    await expectAll([admin.put(`${own}/policy`, policy), admin.patch(own, { tagline: 't' })], 200);
    await expectAll([admin.post(`${own}/releases`, { version_label: '2' })], 201);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    await expectAll([app.api(await app.issuer.issueToken(claims)).post(`${item}/review`)], 200);
    const buyer = { workspace_id: await organization.newWorkspace() };
    const acquired = await admin.post(`${item}/acquire`, buyer);
    expect(acquired.status).toBe(201);
    await expectAll([admin.post(`${item}/acquire`, buyer)], 200);
    const acquisition = acquired.headers.get('location')!;
    await expectAll(
      [
        '/store/v1/publisher/items',
        own,
        `${own}/releases`,
        '/store/v1/items',
        item,
        `${item}/package`,
        `${item}/releases`,
        '/store/v1/acquisitions',
        acquisition,
      ].map((path) => admin.get(path)),
      200,
    );
    await expectAll([admin.get(`${item}/package`, { range: 'bytes=0-9' })], 206);
    await expectAll([admin.post(`${acquisition}/upgrade`)], 200);
    await expectAll([admin.post(`${own}/withdraw`)], 200);
    await expectAll([admin.delete(`${own}?force=true`)], 204);
  });

  it('responds as documented: creates of resources that exist', async () => {
    const named = { workspace_id, name: 'twice' };
    const provider = await admin.post('/model/v1/providers', { workspace_id, name: 'twice', kind: 'openai' });
    const targets = [{ provider_id: provider.body.provider_id, upstream_model: 'gpt-5' }];
    const checks = { scorer_kind: 'code', definition: { checks: [{ type: 'equals' }] } };
    const file = new URLSearchParams({ workspace_id, name: 'twice', on_conflict: 'update' });
    const creates = [
      (mode: string) => admin.post(`/registry/v1/apps${mode}`, { workspace_id, app: 'twice', resources: [] }),
      (mode: string) =>
        admin.post(`/skill/v1/skills${mode}`, { ...named, description: 'd', instructions: 'i' }),
      (mode: string) => admin.post(`/agent/v1/agents${mode}`, named),
      (mode: string) => admin.post(`/model/v1/models${mode}`, { ...named, targets }),
      (mode: string) => evaluator.post(`/eval/v1/datasets${mode}`, named),
      (mode: string) => evaluator.post(`/eval/v1/scorers${mode}`, { ...named, ...checks }),
      () => admin.post(`/file/v1/files?${file.toString()}`, Buffer.from('x')),
    ];
    await expectAll(
      creates.map((create) => create('?on_conflict=update')),
      201,
    );
    await expectAll(
      creates.map((create) => create('?on_conflict=return')),
      200,
    );
  });

  it('returns each of its documented 2xx statuses', () => {
    const documented = app.contract.operations.flatMap(({ method, path, responses }) =>
      [...responses.keys()]
        .filter((status) => status.startsWith('2'))
        .map((status) => `${method} ${path} ${status}`),
    );
    expect(documented.length).toBeGreaterThan(60);
    expect(documented.filter((one) => !app.contract.seen.has(one))).toEqual([]);
  });
});
