import { type Answer, type ApiClient, sharedApp, newOrganization } from '#testing';

const KIB = 1024;
/** Size of a large value in bytes. */
const SIZE = 400 * KIB;

/** Returns members that JavaScript would reorder, as JSON text. */
function indexed(size: number, last = 0): string {
  const members: string[] = [];
  for (let at = Math.floor(size / 11); at > 0; at--) members.push(`"${at}":0`);
  return `{${members.join(',')},"last":${last}}`;
}

/** Returns empty objects, as JSON text. */
const objects = (size: number): string => `[{}${',{}'.repeat(size / 3)}]`;

describe('large values', () => {
  const app = sharedApp();
  let editor: ApiClient;
  let other: ApiClient;
  let workspace_id: string;
  let token: string;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    workspace_id = organization.workspaceId;
    token = await organization.token('admin');
    editor = app.api(token).in(workspace_id);
    other = await (await newOrganization(app)).as('viewer');
  });

  let nameCount = 0;
  const newDataset = async (body: object = {}): Promise<string> => {
    const dataset = await editor.post('/eval/v1/datasets', {
      workspace_id,
      name: `d${(nameCount += 1)}`,
      ...body,
    });
    return `/eval/v1/datasets/${dataset.body.dataset_id}`;
  };
  /** Returns a body whose free-form members are JSON text. */
  const withText = (body: object, members: Record<string, string>): string =>
    `${JSON.stringify(body).slice(0, -1)}${Object.keys(body).length > 0 ? ',' : ''}${Object.entries(members)
      .map(([name, text]) => `"${name}":${text}`)
      .join(',')}}`;
  /** Returns the response as text, because parsing it would change the order of members. */
  const textOf = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'x-service-workspace-id': workspace_id };
    return (await fetch(app.url + path, { headers })).text();
  };

  it('are stored as sent, compared and changed in records, like small values', async () => {
    const records = `${await newDataset()}/records`;
    const input = indexed(SIZE);
    const created = await editor.post(
      records,
      withText({ workspace_id }, { input, expected: objects(SIZE / 50) }),
    );
    expect(created.status).toBe(201);
    const record = `${records}/${created.body.dataset_record_id}`;
    expect(await textOf(record)).toContain(`"input":${input},"expected":[{},{}`);
    const same = await editor.patch(record, withText({}, { input }));
    expect([same.status, same.body.version]).toEqual([200, 1]);
    const changed = await editor.patch(record, withText({ label: 'x' }, { input: indexed(SIZE, 1) }));
    expect([changed.status, changed.body.version, changed.body.label]).toEqual([200, 2, 'x']);
    expect(await textOf(record)).toContain(`"input":${indexed(SIZE, 1)}`);
  });

  it('must match a newer schema of records only when they change', async () => {
    const dataset = await newDataset();
    const text = (name: string): string => `{"${name}":1,"text":"${'x'.repeat(SIZE)}"}`;
    const { body } = await editor.post(
      `${dataset}/records`,
      withText({ workspace_id }, { input: text('a') }),
    );
    const record = `${dataset}/records/${body.dataset_record_id}`;
    await editor.patch(dataset, { input_schema: { required: ['b'] } });
    const reordered = `{"text":"${'x'.repeat(SIZE)}","a":1}`;
    expect((await editor.patch(record, withText({}, { input: reordered }))).status).toBe(200);
    const rejected = await editor.patch(record, withText({}, { input: text('c') }));
    expect([rejected.status, rejected.body.errors]).toEqual([
      400,
      [{ pointer: '/input/b', detail: 'is required' }],
    ]);
    expect((await editor.patch(record, withText({}, { input: text('b') }))).status).toBe(200);
  });

  it('are validated one by one in bulk items', async () => {
    const records = `${await newDataset()}/records`;
    const part = objects(SIZE / 4);
    const items = [`{"input":${part}}`, `{"input":1,"metadata":${part}}`, `{"expected":${part}}`, '7'];
    const { status, body } = await editor.post(
      `${records}/bulk`,
      withText({ workspace_id }, { items: `[${items.join(',')}]` }),
    );
    expect(status).toBe(207);
    expect(body.items.map((item: Answer['body']) => [item.status_code, item.error?.errors])).toEqual([
      [201, undefined],
      [400, [{ pointer: '/items/1/metadata', detail: 'must be an object of at most 16 KiB as JSON' }]],
      [400, [{ pointer: '/items/2/input', detail: 'is required' }]],
      [400, [{ pointer: '/items/3', detail: 'must be a JSON object' }]],
    ]);
  });

  it('are stored, found by their scalars, changed and finalized in experiments', async () => {
    const config = (name: string): string => `{"model":{"name":"${name}"},"rest":${objects(SIZE)}}`;
    const find = async (name: string): Promise<number> => {
      const query = new URLSearchParams({ config: `model.name:${name}` }).toString();
      return (await editor.get(`/eval/v1/experiments?limit=1&${query}`)).body.items.length;
    };
    const body = withText({ workspace_id, name: 'large' }, { config: config('one') });
    const created = await editor.post('/eval/v1/experiments', body);
    expect(created.status).toBe(201);
    const experiment = `/eval/v1/experiments/${created.body.experiment_id}`;
    expect(await find('one')).toBe(1);
    const same = await editor.patch(experiment, withText({}, { config: config('one') }));
    expect([same.status, same.headers.get('etag')]).toEqual([200, created.headers.get('etag')]);
    const changed = await editor.patch(experiment, withText({}, { config: config('two') }));
    expect([changed.status, await find('one'), await find('two')]).toEqual([200, 0, 1]);
    const results = withText(
      { workspace_id, case_id: 'a', scores: { s: { score: 1, metadata: { reason: 'good' } } } },
      { output: objects(SIZE) },
    );
    const result = await editor.post(`${experiment}/results`, results);
    expect([result.status, result.body.score_details]).toEqual([
      201,
      { s: { metadata: { reason: 'good' }, comment: 'good' } },
    ]);
    const final = await editor.patch(experiment, { experiment_status: 'completed' });
    expect([final.status, final.body.summary.scores]).toEqual([200, { s: { mean: 1, count: 1 } }]);
  });

  it('are stored, compared and reconciled in MCP servers and apps', async () => {
    const tools = (count: number): string =>
      `[${Array.from({ length: count }, (_, n) => `{"name":"t${n}","more":1,"inputSchema":{"enum":${objects(SIZE / 10)}}}`).join(',')}]`;
    const url = 'https://mcp.example.com/';
    const server = await editor.post(
      '/mcp/v1/servers',
      withText({ workspace_id, name: 'large', url }, { tools: tools(9) }),
    );
    expect(server.status).toBe(201);
    const path = `/mcp/v1/servers/${server.body.server_id}`;
    const same = await editor.patch(path, withText({}, { tools: tools(9) }));
    expect([same.status, same.body.generation]).toEqual([200, 1]);
    const changed = await editor.patch(path, withText({}, { tools: tools(8) }));
    expect([changed.status, changed.body.generation]).toEqual([200, 2]);

    const resources = (count: number): string =>
      `[{"kind":"mcp_server","name":"declared","spec":{"url":"${url}","tools":${tools(count)}}}]`;
    const app = await editor.post(
      '/registry/v1/apps',
      withText({ workspace_id, app: 'large' }, { resources: resources(9) }),
    );
    expect([app.status, app.body.resource_count]).toEqual([201, 1]);
    expect((await editor.post('/registry/v1/apps/large/reconcile')).body).toEqual({
      app: 'large',
      live_count: 1,
    });
    const again = await editor.patch('/registry/v1/apps/large', withText({}, { resources: resources(9) }));
    expect([again.status, again.body.sync_state]).toEqual([200, 'synced']);
    const other = await editor.patch('/registry/v1/apps/large', withText({}, { resources: resources(8) }));
    expect([other.status, other.body.sync_state]).toEqual([200, 'pending']);
    const faulty = resources(9).replace('"t0"', '7');
    const rejected = await editor.patch('/registry/v1/apps/large', withText({}, { resources: faulty }));
    expect([rejected.status, rejected.body.errors[0].pointer]).toEqual([
      400,
      '/resources/0/spec/tools/0/name',
    ]);
  });

  it('are read from uploads as JSON', async () => {
    const content = 'x'.repeat(SIZE);
    const skill = await editor.post('/skill/v1/skills', {
      workspace_id,
      name: 'large',
      description: 'd',
      instructions: 'i',
      metadata: { owner: 'me' },
      files: [{ path: 'a.txt', content }],
    });
    expect([skill.status, skill.body.metadata]).toEqual([201, { owner: 'me' }]);
    const version = await editor.post(`${await newDataset()}/versions`, {
      workspace_id,
      content: `input\n${content}\n`,
      mapping: { input: ['input'] },
    });
    expect([version.status, version.body.row_count]).toEqual([201, 1]);
  });

  it('are replayed for a repeated idempotency key, and rejected with another body', async () => {
    const records = `${await newDataset()}/records`;
    const send = (size: number): Promise<Answer> =>
      editor.post(records, withText({ workspace_id }, { input: objects(size) }), {
        'idempotency-key': 'large',
      });
    const first = await send(SIZE);
    const repeat = await send(SIZE);
    expect([first.status, repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([
      201,
      201,
      'true',
    ]);
    expect(repeat.body.dataset_record_id).toBe(first.body.dataset_record_id);
    expect((await send(SIZE - 3)).status).toBe(422);
  });

  it.each<[string, string, [number, string, number]]>([
    ['is cut off', `[{}${',{}'.repeat(SIZE / 3)}`, [400, '', 1]],
    [
      'has only unknown members',
      `{${Array.from({ length: SIZE / 12 }, (_, n) => `"k${n}":0`).join(',')}}`,
      [400, '/k0', 100],
    ],
    ['has too many values', `{"definition":{"a":${objects(900_000)}}}`, [413, '', 0]],
  ])('do not delay other callers if the body %s', async (_, body, [status, pointer, count]) => {
    const attacks = Array.from({ length: 4 }, () => editor.post('/eval/v1/scorers', body));
    const others = [];
    for (let turn = 0; turn < 10; turn++) others.push((await other.get('/eval/v1/datasets')).status);
    expect(others).toEqual(new Array(10).fill(200));
    for (const answer of await Promise.all(attacks)) {
      if (answer.status === 503) expect(answer.body.code).toBe('service_overloaded');
      else {
        const { errors = [] } = answer.body;
        expect([answer.status, errors[0]?.pointer ?? '', errors.length]).toEqual([status, pointer, count]);
      }
    }
  });
});
