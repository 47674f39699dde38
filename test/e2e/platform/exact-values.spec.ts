import { sharedApp, newOrganization } from '#testing';
import { EXACT, ExactJson, objectOf } from './exact-values.harness';

/** Another value that JavaScript would change, for patches. */
const OTHER = '{"id":9007199254740992,"ns":1795459000000000003,"nul":"\\u0000"}';

describe('free-form members', () => {
  const app = sharedApp();
  let json: ExactJson;

  beforeAll(async () => {
    json = await ExactJson.open(app);
  });

  describe('of records', () => {
    let dataset: string;
    let record: string;

    beforeAll(async () => {
      dataset = await json.dataset();
      const members = { input: EXACT, expected: '9007199254740993', metadata: EXACT };
      const { status, body } = await json.send('POST', `${dataset}/records`, members);
      expect([status, body.errors]).toEqual([201, undefined]);
      record = `${dataset}/records/${body.dataset_record_id}`;
    });

    const STORED = `"input":${EXACT},"expected":9007199254740993,"metadata":${EXACT}`;

    it('keep every digit of a snowflake id', async () => {
      expect(await json.text(record)).toContain(STORED);
      expect(await json.text(`${dataset}/records`)).toContain(STORED);
      expect(await json.text(`${record}/versions/1`)).toContain(STORED);
    });

    it('are not changed by a patch of another member', async () => {
      const same = await json.send('PATCH', record, { input: EXACT, metadata: EXACT });
      expect([same.status, same.headers.get('etag')]).toEqual([200, '"1"']);
      const labelled = await json.send('PATCH', record, { label: '"x"' });
      expect([labelled.status, labelled.body.version]).toEqual([200, 2]);
      expect(await json.text(record)).toContain(STORED);
    });

    it('keep all digits when a patch merges metadata, including the digits of the patch', async () => {
      const created = await json.send('POST', `${dataset}/records`, { input: '1', metadata: EXACT });
      const own = `${dataset}/records/${created.body.dataset_record_id}`;
      const patch = `{"big":null,"rounded":null,"added":${OTHER}}`;
      expect((await json.send('PATCH', own, { metadata: patch })).status).toBe(200);
      const merged = EXACT.replace('"big":123456789012345678901234567890,"rounded":1152921504606847000,', '');
      expect(await json.text(own)).toContain(`"metadata":${merged.slice(0, -1)},"added":${OTHER}}`);
    });

    it('change even if the values differ only beyond the precision of a double', async () => {
      const created = await json.send('POST', `${dataset}/records`, { input: '{"id":9007199254740993}' });
      const own = `${dataset}/records/${created.body.dataset_record_id}`;
      const changed = await json.send('PATCH', own, { input: '{"id":9007199254740992}' });
      expect([changed.status, changed.body.version]).toEqual([200, 2]);
      expect(await json.text(own)).toContain('"input":{"id":9007199254740992}');
    });

    it.each([
      ['jsonl', 'application/x-ndjson', ''],
      ['csv', 'text/csv', 'cells=json'],
    ])('survive an export as %s and an import into another dataset', async (format, media, option) => {
      const exported = await json.text(`${dataset}/records/export?format=${format}&${option}`);
      const copy = await json.dataset();
      await json.upload(`${copy}/records/import?${option}`, media, exported);
      expect(await json.text(`${copy}/records`)).toContain(STORED);
    });

    it('are found by their words, even next to a NUL character', async () => {
      const own = await json.dataset();
      await json.send('POST', `${own}/records`, { input: '["caterpillar\\u0000butterfly"]' });
      for (const q of ['caterpillar', 'butterfly']) {
        expect((await json.api.get(`${own}/records?q=${q}`)).body.items).toHaveLength(1);
      }
    });

    it('are replayed with all digits for a repeated idempotency key', async () => {
      const send = () =>
        json.api.request('POST', `${dataset}/records`, {
          body: objectOf({ workspace_id: `"${json.workspaceId}"`, input: EXACT }),
          headers: { 'idempotency-key': 'exact' },
        });
      const first = await send();
      const repeat = await send();
      expect(repeat.headers.get('idempotency-replayed')).toBe('true');
      expect(repeat.body).toEqual(first.body);
    });

    it('are validated against a schema as doubles, and stored as sent', async () => {
      const own = await json.dataset({ input_schema: '{"properties":{"id":{"type":"integer"}}}' });
      const { status, body } = await json.send('POST', `${own}/records`, { input: EXACT });
      expect(status).toBe(201);
      expect(await json.text(`${own}/records/${body.dataset_record_id}`)).toContain(`"input":${EXACT}`);
      const rejected = await json.send('POST', `${own}/records`, { input: '{"id":1.5,"n":1e400}' });
      expect([rejected.status, rejected.body.errors[0].pointer]).toEqual([400, '/input/n']);
    });
  });

  it('are found by exact metadata in datasets and experiments', async () => {
    const dataset = await json.dataset({ metadata: EXACT });
    const experiment = await json.send('POST', '/eval/v1/experiments', { name: '"m"', metadata: EXACT });
    expect(experiment.status).toBe(201);
    const matches = async (kind: string, metadata: string) =>
      (await json.send('POST', `/eval/v1/${kind}/search`, { metadata })).body.items.length;
    for (const kind of ['datasets', 'experiments']) {
      expect(await matches(kind, EXACT)).toBe(1);
      expect(await matches(kind, '{"id":9007199254740993}')).toBe(1);
      expect(await matches(kind, '{"id":9007199254740992}')).toBe(0);
      expect(await matches(kind, '{"nul\\u0000":["a\\u0000b"]}')).toBe(1);
      expect(await matches(kind, '{"nul\\u0000":["ab"]}')).toBe(0);
    }
    expect(await json.text(dataset)).toContain(`"metadata":${EXACT}`);
  });

  it('are returned unchanged in experiments and results, even after finalization', async () => {
    const body = { name: '"e"', config: EXACT, context_manifest: EXACT, metadata: EXACT };
    const created = await json.send('POST', '/eval/v1/experiments', body);
    expect([created.status, created.body.errors]).toEqual([201, undefined]);
    const experiment = `/eval/v1/experiments/${created.body.experiment_id}`;
    const scores = `{"s":{"score":1.0,"metadata":${EXACT}},"t":{"score":0,"metadata":{"reason":"a\\u0000b"}}}`;
    const members = { input: EXACT, expected: EXACT, metadata: EXACT, output: EXACT, error: EXACT, scores };
    const result = await json.send('POST', `${experiment}/results`, { case_id: '"a"', ...members });
    expect([result.status, result.body.errors]).toEqual([201, undefined]);
    const text = await json.text(`${experiment}/results/${result.body.result_id}`);
    for (const member of ['input', 'expected', 'metadata', 'output', 'error']) {
      expect(text).toContain(`"${member}":${EXACT}`);
    }
    expect(text).toContain(`"score_details":{"s":{"metadata":${EXACT}}`);
    expect(text).toContain('"comment":"a\ufffdb"');

    for (const metrics of ['{"n":1.0}', '{"at":1795459000000000001}']) {
      expect((await json.send('PATCH', experiment, { metrics })).status).toBe(200);
    }
    const final = await json.send('PATCH', experiment, { experiment_status: '"completed"' });
    expect([final.status, final.body.summary.scores.s]).toEqual([200, { mean: 1, count: 1 }]);
    const finalized = await json.text(experiment);
    for (const member of ['config', 'context_manifest', 'metadata']) {
      expect(finalized).toContain(`"${member}":${EXACT}`);
    }
    expect(finalized).toContain('"metrics":{"n":1.0,"at":1795459000000000001}');
    expect(await json.text(`/eval/v1/experiments?name=e`)).toContain(`"config":${EXACT}`);
  });

  it('are found by the exact digits of a config, in any notation', async () => {
    const config = '{"id":9007199254740995,"t":1.0,"deep":{"ns":1795459000000000001},"nul":"a\\u0000"}';
    const created = await json.send('POST', '/eval/v1/experiments', { name: '"config"', config });
    expect(created.status).toBe(201);
    const count = async (pair: string) =>
      (await json.api.get(`/eval/v1/experiments?config=${encodeURIComponent(pair)}`)).body.items.length;
    const pairs = ['id:9007199254740995', 't:1.0', 't:1', 't:1e0', 'deep.ns:1795459000000000001'];
    for (const pair of pairs) expect([pair, await count(pair)]).toEqual([pair, 1]);
    expect(await count('id:9007199254740996')).toBe(0);
  });

  it('are returned as sent in session messages, including tool calls', async () => {
    const agent = await json.send('POST', '/agent/v1/agents', { name: '"exact"', metadata: EXACT });
    expect([agent.status, agent.body.errors]).toEqual([201, undefined]);
    expect(await json.text(`/agent/v1/agents/${agent.body.agent_id}`)).toContain(`"metadata":${EXACT}`);
    const sessions = `/agent/v1/agents/${agent.body.agent_id}/sessions`;
    const { body } = await json.api.post(sessions, objectOf({ prompt: '"p"', metadata: EXACT }));
    const session = `/agent/v1/sessions/${body.session_id}`;
    expect(await json.text(session)).toContain(`"metadata":${EXACT}`);
    const message = objectOf({ role: '"assistant"', content: EXACT, tool_calls: `[${EXACT},1.0]` });
    expect((await json.api.post(`${session}/messages`, message)).status).toBe(201);
    expect(await json.text(`${session}/messages`)).toContain(
      `"content":${EXACT},"trace_id":null,"tool_calls":[${EXACT},1.0]`,
    );
  });

  it('are returned as sent in tools and files', async () => {
    const tools = `[{"name":"t","inputSchema":${EXACT}}]`;
    const server = await json.send('POST', '/mcp/v1/servers', {
      name: '"exact"',
      url: '"https://mcp.example.com/"',
      metadata: EXACT,
      tools,
    });
    expect([server.status, server.body.errors]).toEqual([201, undefined]);
    const path = `/mcp/v1/servers/${server.body.server_id}`;
    expect(await json.text(path)).toContain(`"metadata":${EXACT}`);
    expect(await json.text(`${path}/tools`)).toContain(`"input_schema":${EXACT}`);
    const other = tools.replace('9007199254740993', '9007199254740992');
    const changed = await json.send('PATCH', path, { tools: other });
    expect([changed.status, changed.body.generation]).toEqual([200, 2]);

    const query = new URLSearchParams({
      workspace_id: json.workspaceId,
      name: 'f',
      metadata: EXACT,
    }).toString();
    const { body } = await json.api.post(`/file/v1/files?${query}`, 'x', { 'content-type': 'text/plain' });
    expect(await json.text(`/file/v1/files/${body.file_id}`)).toContain(`"metadata":${EXACT}`);
  });

  it('are reconciled once in an app, and stay as sent', async () => {
    const spec = `{"url":"https://mcp.example.com/","metadata":${EXACT},"tools":[{"name":"t","inputSchema":${EXACT}}]}`;
    const agent = `{"metadata":${EXACT},"max_step_count":5.0}`;
    const resources = `[{"kind":"mcp_server","name":"declared","spec":${spec}},{"kind":"agent","name":"declared","spec":${agent}}]`;
    const created = await json.send('POST', '/registry/v1/apps', { app: '"exact"', resources });
    expect([created.status, created.body.errors]).toEqual([201, undefined]);
    const reconcile = () => json.api.post('/registry/v1/apps/exact/reconcile');
    expect((await reconcile()).body).toEqual({ app: 'exact', live_count: 2 });
    const listed = async () => json.text('/agent/v1/agents?app=exact');
    const first = await listed();
    expect(first).toContain(`"metadata":${EXACT}`);
    expect(await json.text('/mcp/v1/servers?app=exact')).toContain(`"metadata":${EXACT}`);
    await reconcile();
    expect(await listed()).toBe(first);
    const typed = resources.replace('5.0', '9007199254740993');
    const rejected = await json.send('PATCH', '/registry/v1/apps/exact', { resources: typed });
    expect([rejected.status, rejected.body.errors[0].pointer]).toEqual([
      400,
      '/resources/1/spec/max_step_count',
    ]);
  });

  it('are returned as sent in human scores', async () => {
    const definition = '{"rubric":"Good?","output":{"type":"boolean"}}';
    const scorer = await json.send('POST', '/eval/v1/scorers', {
      name: '"people"',
      scorer_kind: '"human"',
      definition,
      metadata: EXACT,
    });
    expect([scorer.status, scorer.body.errors]).toEqual([201, undefined]);
    expect(await json.text(`/eval/v1/scorers/${scorer.body.scorer_id}`)).toContain(`"metadata":${EXACT}`);
    const experiment = await json.send('POST', '/eval/v1/experiments', { name: '"people"' });
    const results = `/eval/v1/experiments/${experiment.body.experiment_id}/results`;
    const scores = `{"own":{"score":1,"metadata":${EXACT}}}`;
    const result = await json.send('POST', results, { case_id: '"a"', scores });
    const score = await json.send('POST', '/eval/v1/scores', {
      scorer_id: `"${scorer.body.scorer_id}"`,
      result_id: `"${result.body.result_id}"`,
      score: 'true',
      metadata: EXACT,
    });
    expect([score.status, score.body.errors]).toEqual([201, undefined]);
    expect(await json.text(`/eval/v1/scores/${score.body.score_id}`)).toContain(`"metadata":${EXACT}`);
    // the person's score is merged into the other scores of the result
    const { scores: all } = (await json.api.get(`${results}/${result.body.result_id}`)).body;
    expect(all).toEqual({ own: 1, people: 1 });
    expect(await json.text(`${results}/${result.body.result_id}`)).toContain(
      `{"metadata":${EXACT}},"people"`,
    );
  });

  it.each(['"a\\u0000b\\u001f"', '"\ufdd0\ufdd1\ufdd2"', '["\\u0000"]', '{"\\u0000":"\ufdd0"}', '1.0'])(
    'are kept in results, even if the whole value is %s',
    async (value) => {
      const experiment = await json.send('POST', '/eval/v1/experiments', { name: '"whole"' });
      const results = `/eval/v1/experiments/${experiment.body.experiment_id}/results`;
      const members = { input: value, expected: value, output: value };
      const { status, body } = await json.send('POST', results, { case_id: '"a"', ...members });
      expect(status).toBe(201);
      const stored = await json.text(`${results}/${body.result_id}`);
      for (const member of Object.keys(members)) expect(stored).toContain(`"${member}":${value}`);
    },
  );

  it('are passed to scripts with their NUL characters', async () => {
    const experiment = await json.send('POST', '/eval/v1/experiments', { name: '"scripts"' });
    const { experiment_id } = experiment.body;
    const output = '{"id":9007199254740993,"nul":"a\\u0000b"}';
    const results = `/eval/v1/experiments/${experiment_id}/results`;
    expect(
      (await json.send('POST', results, { case_id: '"a"', output, trace_id: `"${'a'.repeat(32)}"` })).status,
    ).toBe(201);
    const definition = JSON.stringify({
      language: 'javascript',
      source: 'function score({ output }) { return { score: output.nul.length, label: output.nul }; }',
    });
    const created = { name: '"nul"', scorer_kind: '"code"', definition };
    const { body } = await json.send('POST', '/eval/v1/scorers', created);
    const scored = await json.api.post(`/eval/v1/scorers/${body.scorer_id}/score`, {
      mode: 'test',
      experiment_id,
    });
    expect([scored.status, scored.body.detail, scored.body.results?.[0].score]).toEqual([200, undefined, 3]);
  });

  it.each<[string, Record<string, string>, string]>([
    ['a NUL in a typed member', { input: '1', label: '"a\\u0000"' }, '/label'],
    ['a number that is not finite', { input: '{"n":-1e400}' }, '/input/n'],
    ['half of a surrogate pair in a member name', { input: '{"\\ud800":1}' }, '/input'],
    ['65 levels', { metadata: `{"a":${'['.repeat(63)}${']'.repeat(63)}}` }, '/metadata/a'],
  ])('are rejected with %s', async (_, members, pointer) => {
    const { status, body } = await json.send('POST', `${await json.dataset()}/records`, members);
    expect([status, body.errors?.[0].pointer.startsWith(pointer)]).toEqual([400, true]);
  });

  it('do not leak to another organization if they contain NUL characters', async () => {
    const other = await (await newOrganization(app)).as('viewer');
    expect((await other.get(await json.dataset({ metadata: EXACT }))).status).toBe(404);
  });
});
