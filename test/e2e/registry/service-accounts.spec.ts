import { createHash } from 'node:crypto';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { ME } from './authentication.harness';

const ACCOUNTS = '/registry/v1/service-accounts';

describe('service accounts', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    admin = await org.member('owner');
  });

  let made = 0;
  const name = () => `account ${(made += 1)}`;
  const make = async (body: Record<string, unknown> = {}) => {
    const answer = await admin.post<Record<string, any>>(ACCOUNTS, {
      name: name(),
      roles: ['viewer'],
      workspace_ids: [org.workspaceId],
      ...body,
    });
    expect(answer.status).toBe(201);
    return answer;
  };
  const makeKey = async (accountId: string, body: Record<string, unknown> = {}) => {
    const answer = await admin.post<{ key_id: string; key: string }>(`${ACCOUNTS}/${accountId}/keys`, {
      name: 'k',
      ...body,
    });
    expect(answer.status).toBe(201);
    return answer;
  };
  const codeOf = async (key: string): Promise<string> => {
    const { status, body } = await app.api(key).get<{ code: string }>(ME);
    return status === 200 ? 'ok' : body.code;
  };

  it('are created with a Location and an ETag', async () => {
    const answer = await make({ description: 'does things', metadata: { a: 1 } });
    const id = answer.body.service_account_id as string;
    expect(id).toMatch(/^sva_[0-9a-z]{26}$/);
    expect(answer.headers.get('location')).toBe(`${ACCOUNTS}/${id}`);
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.body).toMatchObject({
      org_id: org.orgId,
      description: 'does things',
      status: 'active',
      roles: ['viewer'],
      workspace_ids: [org.workspaceId],
      metadata: { a: 1 },
      generation: 1,
      archived_at: null,
      created_by: expect.stringMatching(/^usr_/) as string,
    });
    const read = await admin.get(`${ACCOUNTS}/${id}`);
    expect(read.body).toEqual(answer.body);
    expect((await admin.get(`${ACCOUNTS}/${id}`, { 'if-none-match': '"1"' })).status).toBe(304);
  });

  it.each<[string, Record<string, unknown>, number, string]>([
    ['no name', { name: undefined }, 400, 'invalid_request'],
    ['an empty name', { name: '' }, 400, 'invalid_request'],
    ['a name that is too long', { name: 'x'.repeat(256) }, 400, 'invalid_request'],
    ['a name with a line break', { name: 'a\nb' }, 400, 'invalid_request'],
    ['a NUL', { description: 'a\0b' }, 400, 'invalid_request'],
    ['roles that are no array', { roles: 'viewer' }, 400, 'invalid_request'],
    ['an unknown role', { roles: ['superuser'] }, 422, 'validation_failed'],
    ['an unknown status', { status: 'asleep' }, 422, 'validation_failed'],
    ['an unknown workspace', { workspace_ids: ['wsp_unknown'] }, 400, 'invalid_request'],
    ['metadata of 17 KiB', { metadata: { a: 'x'.repeat(17_000) } }, 400, 'invalid_request'],
  ])('are refused with %s', async (_, change, status, code) => {
    const answer = await admin.post(ACCOUNTS, { name: name(), ...change });
    expect(answer.body).toMatchObject({ status, code });
  });

  it('are changed by merge patch with If-Match', async () => {
    const { body } = await make({ metadata: { a: 1, b: { c: 2 } }, description: 'x' });
    const path = `${ACCOUNTS}/${body.service_account_id}`;
    const first = await admin.patch<Record<string, unknown>>(
      path,
      { metadata: { a: null, b: { d: 3 } }, description: null },
      { 'if-match': '"1"' },
    );
    expect(first.status).toBe(200);
    expect(first.headers.get('etag')).toBe('"2"');
    expect(first.body).toMatchObject({ metadata: { b: { c: 2, d: 3 } }, description: null, generation: 2 });
    expect(first.body['name']).toBe(body.name);
    const stale = await admin.patch(path, { description: 'y' }, { 'if-match': '"1"' });
    expect(stale.body).toMatchObject({ status: 412, code: 'precondition_failed' });
    const same = await admin.patch(path, { roles: ['viewer', 'viewer'] });
    expect(same.headers.get('etag')).toBe('"2"');
    expect((await admin.patch(path, { roles: null })).body).toMatchObject({ roles: [], generation: 3 });
    expect((await admin.patch(path, { name: null })).status).toBe(400);
    expect((await admin.patch(path, { status: 'asleep' })).status).toBe(422);
    expect((await admin.patch(path, { status: 'asleep' }, { 'if-match': '"1"' })).status).toBe(412);
  });

  it('store the minimal set of roles', async () => {
    const { body } = await make({ roles: ['viewer', 'admin', 'editor'] });
    expect(body.roles).toEqual(['admin']);
  });

  it('are listed in pages, filtered by name, status, workspace and words', async () => {
    const own = await newOrganization(app);
    const api = await own.member('owner');
    const other = await own.newWorkspace();
    for (const [one, status, workspace] of [
      ['crawler one', 'active', own.workspaceId],
      ['crawler two', 'suspended', other],
      ['indexer', 'active', other],
    ]) {
      await api.post(ACCOUNTS, { name: one, status, workspace_ids: [workspace] });
    }
    const names = async (query: string) => {
      const { status, body } = await api.get<{ items: { name: string }[]; code: string }>(
        `${ACCOUNTS}?${query}`,
      );
      return status === 200 ? body.items.map((one) => one.name) : body.code;
    };
    expect(await names('')).toEqual(['indexer', 'crawler two', 'crawler one']);
    expect(await names('q=craw')).toEqual(['crawler two', 'crawler one']);
    expect(await names('q=%20')).toEqual(['indexer', 'crawler two', 'crawler one']);
    expect(await names('status=suspended')).toEqual(['crawler two']);
    expect(await names(`workspace_id=${other}&sort=name`)).toEqual(['crawler two', 'indexer']);
    expect(await names('workspace_id=wsp_unknown')).toEqual([]);
    expect(await names('name=indexer')).toEqual(['indexer']);
    expect(await names('status=asleep')).toBe('validation_failed');
    expect(await names('stauts=active')).toBe('invalid_query');
    const page = await api.get<{ page: unknown }>(`${ACCOUNTS}?limit=2`);
    expect(page.body.page).toMatchObject({ limit: 2, offset: 0, total: 3 });
  });

  describe('with keys', () => {
    it('show each key once, and later identify it by its prefix', async () => {
      const { body } = await make();
      const id = body.service_account_id as string;
      const answer = await makeKey(id, { name: 'laptop' });
      const { key, ...rest } = answer.body as Record<string, unknown> & { key: string; key_id: string };
      expect(key).toMatch(/^rsk_[A-Za-z0-9_-]{43}$/);
      expect(rest).toMatchObject({ name: 'laptop', prefix: key.slice(0, 10), expires_at: null });
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const path = answer.headers.get('location')!;
      expect((await admin.get(path)).body).toEqual(rest);
      const list = await admin.get<{ items: unknown[] }>(`${ACCOUNTS}/${id}/keys`);
      expect(list.body.items).toEqual([rest]);
      expect(JSON.stringify(list.body)).not.toContain(key.slice(10));
    });

    it('store each key only as a keyed hash', async () => {
      const { body } = await make();
      const { key, key_id } = (await makeKey(body.service_account_id as string)).body;
      const [row] = await app.database.query<Record<string, unknown>>(
        'SELECT * FROM api_keys WHERE key_id = $1',
        [key_id],
      );
      expect(JSON.stringify(row)).not.toContain(key.slice(10));
      expect((row!['hash'] as Buffer).equals(createHash('sha256').update(key).digest())).toBe(false);
    });

    it('never store a key for replay', async () => {
      const { body } = await make();
      const path = `${ACCOUNTS}/${body.service_account_id}/keys`;
      const once = { 'idempotency-key': 'again' };
      const first = await admin.post<{ key: string }>(path, { name: 'k' }, once);
      const second = await admin.post<{ key: string }>(path, { name: 'k' }, once);
      expect(second.headers.get('idempotency-replayed')).toBeNull();
      expect(second.body.key).not.toBe(first.body.key);
      const replayed = await app.database.query(
        'SELECT 1 FROM idempotency_keys WHERE strpos(convert_from(body, $1), $2) > 0',
        ['UTF8', first.body.key],
      );
      expect(replayed).toEqual([]);
    });

    it('can use a key until it is revoked, and it can be revoked again', async () => {
      const { body } = await make();
      const id = body.service_account_id as string;
      const [one, other] = [(await makeKey(id)).body, (await makeKey(id)).body];
      expect(await codeOf(one.key)).toBe('ok');
      const revoked = await admin.post<{ revoked_at: string }>(`${ACCOUNTS}/${id}/keys/${one.key_id}/revoke`);
      expect(revoked.status).toBe(200);
      expect(revoked.body.revoked_at).not.toBeNull();
      expect((await admin.post(`${ACCOUNTS}/${id}/keys/${one.key_id}/revoke`)).body).toEqual(revoked.body);
      expect(await codeOf(one.key)).toBe('invalid_api_key');
      expect(await codeOf(other.key)).toBe('ok');
    });

    it('can use a key until it expires, cached or not', async () => {
      const { body } = await make();
      const id = body.service_account_id as string;
      const expires_at = new Date(Date.now() + 20_000).toISOString(); // sooner than the cached account
      const { key, key_id } = (await makeKey(id, { expires_at })).body;
      expect(await codeOf(key)).toBe('ok');
      await app.database.query('UPDATE api_keys SET expires_at = now() WHERE key_id = $1', [key_id]);
      expect(await codeOf(key)).toBe('ok'); // from the cache
      const clocks = [
        jest.spyOn(Date, 'now').mockReturnValue(Date.parse(expires_at)),
        jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000),
      ];
      expect(await codeOf(key)).toBe('invalid_api_key');
      for (const clock of clocks) clock.mockRestore();
    });

    it.each([
      '2001-01-01T00:00:00Z',
      'tomorrow',
      5,
      '2099-13-01T00:00:00Z',
      '2099-02-30T00:00:00Z',
      '2099-01-01',
    ])('cannot have a key that expires at %j', async (expiresAt) => {
      const { body } = await make();
      const path = `${ACCOUNTS}/${body.service_account_id}/keys`;
      expect((await admin.post(path, { name: 'k', expires_at: expiresAt })).status).toBe(400);
    });

    it('cannot use their keys while they are suspended or archived', async () => {
      const { body } = await make();
      const id = body.service_account_id as string;
      const { key, key_id } = (await makeKey(id)).body;
      await admin.patch(`${ACCOUNTS}/${id}`, { status: 'suspended' });
      expect(await codeOf(key)).toBe('account_suspended');
      await admin.patch(`${ACCOUNTS}/${id}`, { status: 'active' });
      expect(await codeOf(key)).toBe('ok');
      const token = await app.api().post<{ access_token: string }>('/registry/v1/tokens', { api_key: key });
      await admin.post(`${ACCOUNTS}/${id}/archive`);
      expect(await codeOf(key)).toBe('invalid_api_key');
      expect(await codeOf(token.body.access_token)).toBe('unknown_account');
      expect((await admin.post(`${ACCOUNTS}/${id}/keys`, { name: 'k' })).status).toBe(409);
      expect((await admin.get(`${ACCOUNTS}/${id}/keys/${key_id}`)).status).toBe(200);
      expect((await admin.post(`${ACCOUNTS}/${id}/keys/${key_id}/revoke`)).status).toBe(200);
    });

    it('do not have the keys of other service accounts', async () => {
      const [one, other] = [(await make()).body, (await make()).body];
      const { key, key_id } = (await makeKey(one.service_account_id as string)).body;
      const path = `${ACCOUNTS}/${other.service_account_id}/keys/${key_id}`;
      expect((await admin.get(path)).status).toBe(404);
      expect((await admin.post(`${path}/revoke`)).status).toBe(404);
      expect(await codeOf(key)).toBe('ok');
    });
  });
});
