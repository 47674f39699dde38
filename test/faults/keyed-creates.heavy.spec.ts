import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import { type ApiClient, ApiProcess, newOrganization, sharedApp } from '#testing';

/** Requests of each kind, and how often the process is killed while they are sent. */
const EACH = 24;
const KILLS = 5;
const CONCURRENCY = 12;

/** A kind of request that creates something, in words of the API and of the table that shows how often it took effect. */
interface Kind {
  path: string | ((n: number) => string);
  body: (name: string, n: number) => unknown;
  headers?: Record<string, string>;
  /** The table with a row for each time that the request took effect, and the column with the name. */
  rows: readonly [table: string, column: string];
  /** The value of the column; the name by default. */
  value?: (name: string, n: number) => string;
  count?: number;
}

/** Runs work on all items, some at once. */
async function forAll<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

describe('requests with an Idempotency-Key, during which the API is killed', () => {
  const app = sharedApp();
  let owner: ApiClient;
  let token: string;
  let workspace_id: string;
  const processes: Promise<ApiProcess>[] = [];

  beforeAll(async () => {
    const organization = await newOrganization(app);
    owner = await organization.as('owner');
    token = await organization.tokenOf(newId('usr'), { roles: ['owner'] });
    workspace_id = organization.workspaceId;
  });
  afterEach(async () => {
    for (const started of await Promise.allSettled(processes)) {
      if (started.status === 'fulfilled') await started.value.kill();
    }
  });

  function start(): Promise<ApiProcess> {
    const started = ApiProcess.start(app);
    processes.push(started);
    return started;
  }

  const created = async (path: string, body: object): Promise<string> => {
    const answer = await owner.post(path, { workspace_id, ...body });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.headers.get('location')!;
  };

  async function kinds(): Promise<Record<string, Kind>> {
    const [agent, dataset, experiment, file, scorer, other] = await Promise.all([
      created('/agent/v1/agents', { name: 'planner' }),
      created('/eval/v1/datasets', { name: 'cases' }),
      created('/eval/v1/experiments', { name: 'sums' }),
      owner.post(`/file/v1/files?workspace_id=${workspace_id}&name=shared`, Buffer.from('first')),
      created('/eval/v1/scorers', {
        name: 'exact',
        scorer_kind: 'code',
        definition: { language: 'javascript', source: 'function score() { return 1; }' },
      }),
      created('/eval/v1/experiments', { name: 'others' }),
    ]);
    const session = (await owner.post(`${agent}/sessions`, { prompt: 'Hello' })).headers.get('location')!;
    const provider = await owner.post('/model/v1/providers', {
      workspace_id,
      name: 'openai',
      kind: 'openai',
      base_url: 'https://models.example.com/v1',
      api_key: 'secret',
    });
    const { provider_id } = provider.body as { provider_id: string };
    const filePath = file.headers.get('location')!;
    const skill = { description: 'Adds.', instructions: '# How' };
    const published = Array.from({ length: EACH }, (_, n) => `published-${n}`);
    const skills = await Promise.all(
      published.map(async (name) =>
        (await created('/skill/v1/skills', { name, ...skill })).split('/').at(-1)!,
      ),
    );
    const experiments = await Promise.all(
      published.map(async (name) => (await created('/eval/v1/experiments', { name })).split('/').at(-1)!),
    );
    await forAll(experiments, async (id) => {
      await created(`/eval/v1/experiments/${id}/results`, { case_id: 'a', output: 1 });
    });
    const human = (
      await created('/eval/v1/scorers', {
        name: 'by hand',
        scorer_kind: 'human',
        definition: { rubric: 'Right?', output: { type: 'boolean' } },
      })
    )
      .split('/')
      .at(-1)!;
    const result = await created(`${other}/results`, { case_id: 'a', output: 1 });
    const result_id = result.split('/').at(-1)!;
    return {
      workspaces: {
        path: '/registry/v1/workspaces',
        body: (name) => ({ name }),
        rows: ['workspaces', 'name'],
      },
      users: {
        path: '/registry/v1/users',
        body: (user_id) => ({ user_id }),
        rows: ['users', 'user_id'],
      },
      'service accounts': {
        path: '/registry/v1/service-accounts',
        body: (name) => ({ name, roles: ['viewer'] }),
        rows: ['service_accounts', 'name'],
      },
      'signing keys': {
        path: '/registry/v1/org/signing-keys',
        body: (name) => ({ name }),
        rows: ['org_signing_keys', 'name'],
        count: 8, // an organization has at most ten
      },
      apps: {
        path: '/registry/v1/apps',
        body: (name) => ({ workspace_id, app: name, resources: [] }),
        rows: ['apps', 'app'],
      },
      apis: {
        path: '/registry/v1/apis',
        body: (name) => ({ workspace_id, name, base_url: 'https://api.example.com/' }),
        rows: ['apis', 'name'],
      },
      repositories: {
        path: '/registry/v1/repos',
        body: (name) => ({ workspace_id, url: `https://git.example.com/acme/${name}` }),
        rows: ['repos', 'name'],
      },
      files: {
        path: (n) => `/file/v1/files?workspace_id=${workspace_id}&name=files-${n}`,
        body: (name) => Buffer.from(name),
        headers: { 'content-type': 'text/plain' },
        rows: ['files', 'name'],
      },
      'file versions': {
        path: `${filePath}/versions`,
        body: (name) => Buffer.from(name),
        headers: { 'content-type': 'text/plain' },
        rows: ['file_versions', 'sha256'],
        value: (name) => createHash('sha256').update(name).digest('hex'),
      },
      skills: {
        path: '/skill/v1/skills',
        body: (name) => ({ workspace_id, name, ...skill }),
        rows: ['skills', 'name'],
      },
      agents: {
        path: '/agent/v1/agents',
        body: (name) => ({ workspace_id, name }),
        rows: ['agents', 'name'],
      },
      sessions: {
        path: `${agent}/sessions`,
        body: (title) => ({ prompt: 'Hello', title }),
        rows: ['agent_sessions', 'title'],
      },
      messages: {
        path: `${session}/messages`,
        body: (content) => ({ role: 'user', content }),
        rows: ['session_messages', "content #>> '{}'"],
      },
      'MCP servers': {
        path: '/mcp/v1/servers',
        body: (name) => ({ workspace_id, name, url: 'https://mcp.example.com/' }),
        rows: ['mcp_servers', 'name'],
      },
      providers: {
        path: '/model/v1/providers',
        body: (name) => ({
          workspace_id,
          name,
          kind: 'openai',
          base_url: 'https://models.example.com/v1',
          api_key: 'secret',
        }),
        rows: ['model_providers', 'name'],
      },
      models: {
        path: '/model/v1/models',
        body: (name) => ({ workspace_id, name, targets: [{ provider_id, upstream_model: 'gpt-test' }] }),
        rows: ['models', 'name'],
      },
      datasets: {
        path: '/eval/v1/datasets',
        body: (name) => ({ workspace_id, name }),
        rows: ['datasets', 'name'],
      },
      records: {
        path: `${dataset}/records`,
        body: (input) => ({ workspace_id, input }),
        rows: ['records', "input #>> '{}'"],
      },
      'records in bulk': {
        path: `${dataset}/records/bulk`,
        body: (input) => ({ workspace_id, items: [{ input }, { input: 'second' }] }),
        rows: ['records', "input #>> '{}'"],
      },
      'dataset versions': {
        path: `${dataset}/versions`,
        body: (_, n) => `input\n${'x'.repeat(100 + n)}`,
        headers: { 'content-type': 'text/csv' },
        rows: ['dataset_versions', 'size_bytes'],
        value: (_, n) => String(106 + n),
      },
      experiments: {
        path: '/eval/v1/experiments',
        body: (name) => ({ workspace_id, name }),
        rows: ['experiments', 'name'],
      },
      results: {
        path: `${experiment}/results`,
        body: (case_id) => ({ workspace_id, case_id, output: 1, scores: { exact: 1 } }),
        rows: ['results', 'case_id'],
      },
      'results in bulk': {
        path: `${experiment}/results/bulk`,
        body: (case_id) => ({ workspace_id, items: [{ case_id }] }),
        rows: ['results', 'case_id'],
      },
      scorers: {
        path: '/eval/v1/scorers',
        body: (name) => ({
          workspace_id,
          name,
          scorer_kind: 'code',
          definition: { language: 'javascript', source: 'function score() { return 1; }' },
        }),
        rows: ['scorers', 'name'],
      },
      'scoring rules': {
        path: `${scorer}/rules`,
        body: (_, n) => ({ workspace_id, sample_rate: n / 64 }),
        rows: ['scoring_rules', 'sample_rate'],
        value: (_, n) => String(n / 64),
        count: 16, // a scorer has at most twenty
      },
      'scoring runs': {
        path: `${scorer}/score`,
        body: (_, n) => ({ experiment_id: experiments[n] }),
        rows: ['score_runs', 'experiment_id'],
        value: (_, n) => experiments[n]!,
      },
      scores: {
        path: '/eval/v1/scores',
        body: (comment) => ({ workspace_id, scorer_name: 'by hand', result_id, score: 1, comment }),
        rows: ['scores', 'comment'],
      },
      'annotation queues': {
        path: '/eval/v1/annotation-queues',
        body: (name) => ({
          workspace_id,
          name,
          scorer_ids: [human],
          source: { experiment_id: experiments[0] },
          scores_per_item: 1,
        }),
        rows: ['annotation_queues', 'name'],
      },
      'store items': {
        path: '/store/v1/publisher/items',
        body: (name, n) => ({
          workspace_id,
          artifact: { kind: 'skill', artifact_id: skills[n] },
          name,
          category: 'other',
          license: 'MIT',
          actions: ['install'],
        }),
        rows: ['store_items', 'name'],
      },
      logs: {
        path: '/telemetry/v1/logs',
        body: (stringValue) => ({
          resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue } }] }] }],
        }),
        rows: ['log_records', "body #>> '{}'"],
      },
    };
  }

  it('take effect exactly once', async () => {
    const all = Object.entries(await kinds()).flatMap(([kind, one]) =>
      Array.from({ length: one.count ?? EACH }, (_, n) => {
        const name = `${kind.toLowerCase().replaceAll(' ', '-')}-${n}`;
        return { ...one, kind, n, name, content: one.body(name, n), id: '' };
      }),
    );
    all.sort(() => Math.random() - 0.5);

    let starting = start();
    let api = await starting;
    const killed = new Set<ApiProcess>();
    let done = 0;
    let repeats = 0;
    const sending = forAll(all, async (one) => {
      const { path, n, content, headers, name } = one;
      for (;;) {
        const target = api;
        try {
          const { status, body } = await target
            .client(token, workspace_id)
            .post(typeof path === 'string' ? path : path(n), content, {
              'idempotency-key': name,
              ...headers,
            });
          if (status >= 200 && status < 300) break;
          // the claim of the killed process, which others respect for some seconds
          if (status !== 409 || !/still running/.test(body.detail as string)) {
            throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
          }
          await delay(200);
        } catch (error) {
          if (!killed.has(target)) throw error;
          repeats++;
          await starting.catch(() => undefined);
        }
      }
      done++;
    });
    let isSending = true;
    void sending.catch(() => undefined).then(() => (isSending = false));
    const killing = (async () => {
      for (let kill = 1; kill <= KILLS && isSending; kill++) {
        const at = (kill * all.length) / (KILLS + 1);
        while (isSending && done < at) await delay(1 + Math.random() * 4);
        starting = start(); // takes a second, in which the other one still serves
        const next = await starting;
        killed.add(api);
        await api.kill();
        api = next;
      }
    })();
    for (const end of await Promise.allSettled([sending, killing])) {
      if (end.status === 'rejected') throw end.reason;
    }
    expect(done).toBe(all.length);
    expect(repeats).toBeGreaterThan(KILLS);

    const wrong: unknown[] = [];
    for (const { rows, value, kind, n, name } of all) {
      const [table, column] = rows;
      const [found] = await app.database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM ${table} WHERE ${column} = '${value?.(name, n) ?? name}'`,
      );
      if (found!.count !== 1) wrong.push({ kind, n, ...found });
    }
    expect(wrong).toEqual([]);
  }, 180_000);
});
