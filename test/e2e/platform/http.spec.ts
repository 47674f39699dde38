import { once } from 'node:events';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { encodeCursor } from '#platform/paging';
import { type ApiClient, ownApp, newOrganization } from '#testing';

describe('every request', () => {
  const app = ownApp({ env: { BODY_LIMIT_BYTES: '200000' } });
  let editor: ApiClient;
  let workspaceId: string;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    workspaceId = organization.workspaceId;
    editor = await organization.as('editor');
  });

  /** Sends bytes that no client library would send. @returns everything that the service sent */
  async function raw(request: string, url = app.url): Promise<string> {
    const { hostname, port } = new URL(url);
    const socket = net.connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined);
    socket.write(request);
    await once(socket, 'close');
    return answer;
  }

  const create = (body: unknown, headers?: Record<string, string>) =>
    editor.post('/eval/v1/datasets', body, headers);
  const dataset = (name: string) => ({ workspace_id: workspaceId, name });

  it('gets a problem for an unknown route or method, with Allow', async () => {
    const unknown = await editor.get('/eval/v1/nothing');
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('content-type')).toBe('application/problem+json');
    expect(unknown.body).toMatchObject({ code: 'not_found', status: 404, title: 'Not found' });
    const method = await editor.delete('/eval/v1/datasets');
    expect(method.status).toBe(405);
    expect(method.body.code).toBe('method_not_allowed');
    expect(method.headers.get('allow')).toBe('GET, HEAD, POST');
    const search = await editor.put('/eval/v1/datasets/search', {});
    expect([search.status, search.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('gets a problem when Node cannot parse it', async () => {
    expect(await raw('NONSENSE\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/,
    );
    const oversized = await raw(
      `GET /eval/v1/datasets HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    expect(oversized).toMatch(/^HTTP\/1.1 431 [^]*application\/problem\+json/);
    const path = await editor.get('/eval/v1/datasets/%E0%A4%A');
    expect(path.status).toBe(400);
    expect(path.body.code).toBe('invalid_request');
    const expectation = await raw(
      'POST /eval/v1/datasets HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
    );
    expect(expectation).toMatch(/^HTTP\/1.1 417 [^]*problem\+json/);
  });

  it('has a request id, which a client may set, and a trace id', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const valid = await editor.get('/eval/v1/nothing', {
      'x-request-id': 'my-request.1',
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    });
    expect(valid.headers.get('x-request-id')).toBe('my-request.1');
    expect(valid.body.trace_id).toBe(traceId);
    const invalid = await editor.get('/eval/v1/nothing', {
      'x-request-id': 'a b"c',
      traceparent: '00-zz-zz-01',
    });
    expect(invalid.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(invalid.body.trace_id).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is authenticated before its body is read', async () => {
    const { status, body } = await app.api().post('/eval/v1/datasets', '{not json');
    expect([status, body.code]).toEqual([401, 'token_missing']);
  });

  describe('with a body', () => {
    const cases: [string, string | Buffer, RegExp][] = [
      ['invalid JSON', '{"name": ', /JSON/],
      ['an empty body', '', /./],
      ['an array', '[]', /object/],
      ['10,000 levels', `{"metadata":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, /64/],
      ['a NUL character', '{"name":"a\\u0000b"}', /NUL/],
      ['a lone surrogate', '{"name":"\\ud800"}', /surrogate/],
      ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
      ['a number that no double can represent', '{"metadata":{"n":1e999}}', /number/i],
      ['an integer that is invalid in a typed member', '{"tags":[9007199254740993]}', /integer/i],
    ];
    it.each(cases)('returns 400 and stores nothing for %s', async (_, body, detail) => {
      const before = (await editor.get('/eval/v1/datasets?limit=0')).body.page.total as number;
      const answer = await create(body);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
      expect(answer.body.detail).toMatch(detail);
      expect((await editor.get('/eval/v1/datasets?limit=0')).body.page.total).toBe(before);
    });

    it('returns 415 for another media type, encoding or charset', async () => {
      const media = await create('name=x', { 'content-type': 'application/x-www-form-urlencoded' });
      expect([media.status, media.body.code]).toEqual([415, 'unsupported_media_type']);
      const encoding = await create('{}', { 'content-encoding': 'br' });
      expect([encoding.status, encoding.body.code]).toEqual([415, 'unsupported_content_encoding']);
      expect(encoding.headers.get('accept-encoding')).toBe('gzip, identity');
      const charset = await create('{}', { 'content-type': 'application/json; charset=latin1' });
      expect([charset.status, charset.body.detail]).toEqual([415, 'Send text in UTF-8.']);
    });

    it('may use gzip, with the same limit after decoding', async () => {
      const gzip = { 'content-encoding': 'gzip' };
      const created = await create(gzipSync(JSON.stringify(dataset('gzipped'))), gzip);
      expect([created.status, created.body.name]).toEqual([201, 'gzipped']);
      const large = { ...dataset('bomb'), description: 'x'.repeat(300_000) };
      const rejected = await create(gzipSync(JSON.stringify(large)), gzip);
      expect([rejected.status, rejected.body.code]).toEqual([413, 'compressed_payload_too_large']);
    });

    it('returns a readable 413 above the limit, with or without a declared length', async () => {
      const large = JSON.stringify({ ...dataset('large'), description: 'x'.repeat(300_000) });
      const announced = await create(large);
      expect([announced.status, announced.body.code]).toEqual([413, 'payload_too_large']);
      const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
      const { hostname } = new URL(app.url);
      const token = await (await newOrganization(app)).serviceAccount('owner');
      const chunked = await raw(
        `POST /registry/v1/workspaces HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token.key}\r\n` +
          `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk.repeat(4)}0\r\n\r\n`,
      );
      expect(chunked).toMatch(/^HTTP\/1.1 413 [^]*payload_too_large/);
    });

    it('keeps __proto__ and constructor as data, and pollutes nothing', async () => {
      const metadata = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
      const created = await create(`{"workspace_id":"${workspaceId}","name":"proto","metadata":${metadata}}`);
      expect(created.status).toBe(201);
      const text = await (
        await fetch(`${app.url}${created.headers.get('location')}`, { headers: await headersOf(editor) })
      ).text();
      expect(text).toContain(`"metadata":${metadata}`);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    });

    it('returns free-form members verbatim', async () => {
      const metadata = '{"b":1,"1":{"z":null,"0":[]},"a":"é\\n","n":0.1}';
      const created = await create(`{"workspace_id":"${workspaceId}","name":"order","metadata":${metadata}}`);
      const answer = await fetch(`${app.url}${created.headers.get('location')}`, {
        headers: await headersOf(editor),
      });
      expect(await answer.text()).toContain(`"metadata":${metadata}`);
    });

    it('reports every fault with a pointer', async () => {
      const { status, body } = await create({ workspace_id: 3, name: '', tags: ['a', ''] });
      expect(status).toBe(400);
      const pointers = (body.errors as { pointer: string }[]).map((one) => one.pointer);
      expect(pointers).toEqual(expect.arrayContaining(['/workspace_id', '/name', '/tags']));
    });
  });

  describe('for a list', () => {
    beforeAll(async () => {
      for (let i = 0; i < 7; i++) await create(dataset(`page ${i}`));
    });

    it('pages by cursor without gaps or repeats, even during inserts', async () => {
      const names: string[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '' : `&cursor=${cursor}`;
        const { body } = await editor.get(`/eval/v1/datasets?q=page&limit=3${query}`);
        names.push(...(body.items as { name: string }[]).map((one) => one.name));
        expect(body.page).toMatchObject({ limit: 3, offset: 0 });
        cursor = body.page.next_cursor as string | null;
        if (names.length === 3) await create(dataset('page added meanwhile'));
      } while (cursor !== null);
      expect(names).toEqual(['page 6', 'page 5', 'page 4', 'page 3', 'page 2', 'page 1', 'page 0']);
    });

    it('pages by offset, counts and sorts', async () => {
      const first = await editor.get('/eval/v1/datasets?q=page&limit=2&offset=1&sort=name');
      expect((first.body.items as { name: string }[]).map((one) => one.name)).toEqual(['page 1', 'page 2']);
      expect(first.body.page).toMatchObject({ limit: 2, offset: 1, total: 8 });
      const next = await editor.get(
        `/eval/v1/datasets?q=page&limit=2&sort=name&cursor=${first.body.page.next_cursor}`,
      );
      expect((next.body.items as { name: string }[]).map((one) => one.name)).toEqual(['page 3', 'page 4']);
      const none = await editor.get('/eval/v1/datasets?limit=0');
      expect(none.body.items).toEqual([]);
      expect(none.body.page.total).toBeGreaterThanOrEqual(8);
      const updated = await editor.get('/eval/v1/datasets?q=page&sort=-updated_at&limit=4');
      const more = await editor.get(
        `/eval/v1/datasets?q=page&sort=-updated_at&limit=50&cursor=${updated.body.page.next_cursor}`,
      );
      expect(updated.body.items.length + more.body.items.length).toBe(8);
    });

    it.each([
      ['a misspelt filter', 'tga=x'],
      ['limit=501', 'limit=501'],
      ['limit=-1', 'limit=-1'],
      ['limit=ten', 'limit=ten'],
      ['offset=-1', 'offset=-1'],
      [
        'a cursor with an offset',
        'cursor=' + encodeCursor({ sort: '-created_at', key: null, id: 'ds_1' }) + '&offset=1',
      ],
      ['a forged cursor', 'cursor=bm9uc2Vuc2U'],
      [
        'a cursor of another sort',
        'cursor=' + encodeCursor({ sort: '-created_at', key: null, id: 'ds_1' }) + '&sort=name',
      ],
      ...['2020-13-45 00:00:00+00', '-1', '9'.repeat(30), ''].map((key): [string, string] => [
        `a cursor with the time "${key}"`,
        `cursor=${encodeCursor({ sort: '-updated_at', key, id: 'ds_1' })}&sort=-updated_at`,
      ]),
      ['a cursor with a NUL', `cursor=${encodeCursor({ sort: '-created_at', key: null, id: 'ds\0' })}`],
      ['too many words', `q=${'word '.repeat(33)}`],
      ['a repeated parameter', 'q=a&q=b'],
      ['include_archived=yes', 'include_archived=yes'],
    ])('returns 400 invalid_query for %s', async (_, query) => {
      const { status, body } = await editor.get(`/eval/v1/datasets?${query}`);
      expect([status, body.code]).toEqual([400, 'invalid_query']);
    });

    it.each([
      ['POST', '/eval/v1/experiments/search', {}],
      ['GET', '/eval/v1/datasets/ds_1', undefined],
      ['POST', '/eval/v1/datasets', { name: 'not created' }],
    ])('returns 400 for any parameter of %s %s', async (method, path, body) => {
      const sent = body && { workspace_id: workspaceId, ...body };
      const answer = await editor.request(method, `${path}?limit=1`, { body: sent });
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query']);
      expect(answer.body.errors).toEqual([
        { parameter: 'limit', detail: 'is not a parameter of this operation' },
      ]);
      expect((await editor.get('/eval/v1/datasets?q=not+created')).body.items).toEqual([]);
    });

    it('accepts any parameter for probes', async () => {
      expect((await editor.get('/health/live?probe=1')).status).toBe(200);
    });

    it('returns 404 for an unknown id in a query, and names the parameter', async () => {
      const experiment = await editor.post('/eval/v1/experiments', {
        workspace_id: workspaceId,
        name: 'one',
      });
      const path = `/eval/v1/experiments/${experiment.body.experiment_id}/compare`;
      const { status, body } = await editor.get(`${path}?baseline_experiment_id=exp_none`);
      expect([status, body.errors[0].parameter]).toEqual([404, 'baseline_experiment_id']);
    });

    it('pages by names with any characters', async () => {
      const space = await newOrganization(app);
      const api = await space.as('editor');
      const names = ['\u0001'.repeat(250), '\\'.repeat(255), '漢'.repeat(255), '😀'.repeat(127), 'a\nb'];
      for (const name of names) {
        const created = await api.post('/eval/v1/datasets', { workspace_id: space.workspaceId, name });
        expect(created.status).toBe(201);
      }
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: any = await api.get(
          `/eval/v1/datasets?sort=name&limit=1${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        seen.push(...page.body.items.map((one: any) => one.name));
        cursor = page.body.page.next_cursor;
      } while (cursor !== null);
      expect([...seen].sort()).toEqual([...names].sort());
    });

    it('finds nothing for a search without words, and ignores an empty search', async () => {
      const total = async (q: string) =>
        (await editor.get(`/eval/v1/datasets?limit=0&q=${encodeURIComponent(q)}`)).body.page.total;
      expect(await total('!!! ...')).toBe(0);
      expect(await total('')).toBeGreaterThan(0);
      expect(await total(' ')).toBe(await total(''));
    });

    it.each([
      ['an unknown value of an enumerated filter', 'experiment_status', 'finished'],
      ['an unknown sort order', 'sort', 'size'],
      ['a sort order of another list', 'sort', '-started_at'],
    ])('returns 422 for %s', async (_, parameter, value) => {
      const { status, body } = await editor.get(`/eval/v1/experiments?${parameter}=${value}`);
      expect([status, body.code]).toEqual([422, 'validation_failed']);
      expect(body.errors[0].parameter).toBe(parameter);
    });
  });

  describe('with a condition', () => {
    it('returns 304 for an unchanged resource, and 412 for a stale edit', async () => {
      const created = await create(dataset('conditional'));
      const path = created.headers.get('location')!;
      const etag = created.headers.get('etag')!;
      expect(etag).toBe('"1"');
      expect((await editor.get(path, { 'if-none-match': etag })).status).toBe(304);
      expect((await editor.patch(path, { description: 'x' }, { 'if-match': etag })).headers.get('etag')).toBe(
        '"2"',
      );
      const stale = await editor.patch(path, { description: 'y' }, { 'if-match': etag });
      expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed']);
      expect(stale.body.detail).toMatch(/has changed/);
      expect((await editor.get(path)).body.description).toBe('x');
      expect((await editor.patch(path, { description: 'z' }, { 'if-match': '*' })).status).toBe(200);
      // proxies weaken ETags
      const weak = await editor.patch(path, { description: 'w' }, { 'if-match': 'W/"2", W/"3"' });
      expect([weak.status, weak.headers.get('etag')]).toEqual([200, '"4"']);
      expect((await editor.get(path, { 'if-none-match': etag })).status).toBe(200);
    });
  });

  it('returns an ETag for a small list, but not for a large list', async () => {
    for (let i = 0; i < 20; i++) {
      const created = await create({ ...dataset(`large ${i}`), metadata: { text: 'x'.repeat(15_000) } });
      expect(created.status).toBe(201);
    }
    const large = await editor.get('/eval/v1/datasets?q=large');
    expect([large.body.items.length, large.headers.get('etag')]).toEqual([20, null]);
    const small = await editor.get('/eval/v1/datasets?q=large&limit=2');
    const conditional = { 'if-none-match': small.headers.get('etag')! };
    expect((await editor.get('/eval/v1/datasets?q=large&limit=2', conditional)).status).toBe(304);
  });

  describe('in a workspace', () => {
    it('requires the header', async () => {
      const organization = await newOrganization(app);
      const { status, body } = await (await organization.member('viewer')).get('/eval/v1/datasets');
      expect([status, body.code]).toEqual([400, 'invalid_request']);
      expect(body.errors[0].parameter).toBe('X-Service-Workspace-Id');
    });

    it('returns 409 if the workspace is unknown or another organization’s', async () => {
      const organization = await newOrganization(app);
      const other = await newOrganization(app);
      const viewer = await organization.member('viewer');
      for (const id of ['wsp_01h2xceg4aff79wfxjpjkv79e5', other.workspaceId, 'nonsense']) {
        const { status, body } = await viewer.in(id).get('/eval/v1/datasets');
        expect([status, body.code]).toEqual([409, 'conflict']);
      }
    });

    it('returns 403 if the caller has no access to the workspace, or lacks the role', async () => {
      const organization = await newOrganization(app);
      const second = await organization.newWorkspace();
      const bound = app.api(
        await organization.tokenOf('usr_bound', {
          roles: ['viewer'],
          workspace_ids: [organization.workspaceId],
        }),
      );
      expect((await bound.in(organization.workspaceId).get('/eval/v1/datasets')).status).toBe(200);
      const unreachable = await bound.in(second).get('/eval/v1/datasets');
      expect([unreachable.status, unreachable.body.code]).toEqual([403, 'access_denied']);
      const viewer = await organization.as('viewer');
      const write = await viewer.post('/eval/v1/datasets', '{not even json');
      expect([write.status, write.body.code]).toEqual([403, 'access_denied']);
    });

    it('returns 400 on create and 422 on PATCH if the body has another workspace', async () => {
      const organization = await newOrganization(app);
      const second = await organization.newWorkspace();
      const caller = await organization.as('editor');
      const mismatched = await caller.post('/eval/v1/datasets', { workspace_id: second, name: 'x' });
      expect([mismatched.status, mismatched.body.code]).toEqual([400, 'invalid_request']);
      const created = await caller.post('/eval/v1/datasets', {
        workspace_id: organization.workspaceId,
        name: 'x',
      });
      const moved = await caller.patch(created.headers.get('location')!, { workspace_id: second });
      expect([moved.status, moved.body.code]).toEqual([422, 'validation_failed']);
    });
  });

  it('treats a malformed id like an unknown one', async () => {
    for (const id of [
      'x',
      'ds_0',
      'exp_01h2xceg4aff79wfxjpjkv79e5',
      "'; DROP TABLE datasets; --",
      '%00',
      'a'.repeat(300),
    ]) {
      const { status, body } = await editor.get(
        `/eval/v1/datasets/${encodeURIComponent(decodeURIComponent(id))}`,
      );
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
  });

  it('requires no token for health checks', async () => {
    expect((await app.api().get('/health/live')).body).toEqual({ status: 'ok' });
    expect((await app.api().get('/health/ready')).body).toEqual({ status: 'ok' });
  });

  it('returns 408 if its body takes too long to arrive, and 504 if its response takes too long', async () => {
    const organization = await newOrganization(app);
    const { workspaceId } = organization;
    const dataset = { workspace_id: workspaceId, name: 'locked' };
    const created = await (await organization.as('editor')).post('/eval/v1/datasets', dataset);
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '1000', BODY_TIMEOUT_MS: '1000' });
    try {
      const caller = hasty.api(await organization.token('editor')).in(workspaceId);
      const late = await raw(
        `POST /eval/v1/datasets HTTP/1.1\r\nHost: x\r\n${await rawHeaders(caller)}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
        hasty.url,
      );
      expect(late).toMatch(/^HTTP\/1.1 408 [^]*request_timeout/);
      await app.database.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM datasets FOR UPDATE');
        const { status, body } = await caller.patch(created.headers.get('location')!, { name: 'x' });
        expect([status, body.code]).toEqual([504, 'request_timeout']);
      });
    } finally {
      await hasty.close();
    }
  });
});

const headersOf = async (client: ApiClient): Promise<Record<string, string>> => {
  const { token, workspaceId } = client as unknown as { token: string; workspaceId: string };
  return Promise.resolve({ authorization: `Bearer ${token}`, 'x-service-workspace-id': workspaceId });
};

const rawHeaders = async (client: ApiClient): Promise<string> =>
  Object.entries(await headersOf(client))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
