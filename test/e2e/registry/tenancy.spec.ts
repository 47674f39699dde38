import {
  type ApiClient,
  sharedApp,
  newOrganization,
  type TestOrganization,
  type TestServiceAccount,
} from '#testing';

describe('another organization', () => {
  const app = sharedApp();
  let ours: TestOrganization;
  let theirs: TestOrganization;
  let theirAccount: TestServiceAccount;
  let ourAccount: TestServiceAccount;
  let api: ApiClient;

  beforeAll(async () => {
    [ours, theirs] = [await newOrganization(app), await newOrganization(app)];
    [ourAccount, theirAccount] = [await ours.serviceAccount('viewer'), await theirs.serviceAccount('viewer')];
    await (await theirs.member('owner')).post('/registry/v1/users', { user_id: 'theirs' });
    api = await ours.member('owner');
  });

  /** Returns every route that takes an id, with these ids. */
  const routes = (workspaceId: string, accountId: string, keyId: string, userId: string, member: string) =>
    [
      ['GET', `/workspaces/${workspaceId}`],
      ['PATCH', `/workspaces/${workspaceId}`, { name: 'x' }],
      ['POST', `/workspaces/${workspaceId}/archive`],
      ['GET', `/workspaces/${workspaceId}/members`],
      ['GET', `/workspaces/${workspaceId}/members/${member}`],
      ['PUT', `/workspaces/${workspaceId}/members/${member}`, { roles: ['viewer'] }],
      ['DELETE', `/workspaces/${workspaceId}/members/${member}`],
      ['GET', `/service-accounts/${accountId}`],
      ['PATCH', `/service-accounts/${accountId}`, { name: 'x' }],
      ['POST', `/service-accounts/${accountId}/archive`],
      ['GET', `/service-accounts/${accountId}/keys`],
      ['POST', `/service-accounts/${accountId}/keys`, { name: 'x' }],
      ['GET', `/service-accounts/${accountId}/keys/${keyId}`],
      ['POST', `/service-accounts/${accountId}/keys/${keyId}/revoke`],
      ['GET', `/users/${userId}`],
      ['PATCH', `/users/${userId}`, { display_name: 'x' }],
    ] as [string, string, unknown?][];

  const expectNotFound = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await api.request<{ code: string }>(method, `/registry/v1${path}`, { body });
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'not_found']);
  };

  it('is invisible: its ids behave like unknown ids', async () => {
    const { serviceAccountId, keyId, key } = theirAccount;
    for (const route of routes(theirs.workspaceId, serviceAccountId, keyId, 'theirs', 'theirs')) {
      await expectNotFound(...route);
    }
    // its resources under our own
    await expectNotFound('PUT', `/workspaces/${ours.workspaceId}/members/theirs`, { roles: ['viewer'] });
    await expectNotFound('PUT', `/workspaces/${ours.workspaceId}/members/${serviceAccountId}`, {
      roles: ['viewer'],
    });
    await expectNotFound('GET', `/service-accounts/${ourAccount.serviceAccountId}/keys/${keyId}`);
    await expectNotFound('POST', `/service-accounts/${ourAccount.serviceAccountId}/keys/${keyId}/revoke`);
    expect((await app.api(key).get('/registry/v1/me')).status).toBe(200);
  });

  it('cannot be detected by the text of a response', async () => {
    const detail = async (id: string) =>
      (await api.get<{ detail: string }>(`/registry/v1/workspaces/${id}`)).body.detail.replace(id, '');
    expect(await detail(theirs.workspaceId)).toBe(await detail('wsp_00000000000000000000000000'));
  });

  it('cannot be referenced', async () => {
    const answer = await api.post('/registry/v1/service-accounts', {
      name: 'x',
      workspace_ids: [theirs.workspaceId],
    });
    expect(answer.body).toMatchObject({
      status: 400,
      errors: [{ pointer: '/workspace_ids/0', detail: 'is not a workspace of the organization' }],
    });
  });

  it('does not appear in our lists', async () => {
    for (const list of ['workspaces', 'service-accounts', 'users']) {
      const { body } = await api.get<{ items: { org_id: string }[] }>(
        `/registry/v1/${list}?include_archived=true`,
      );
      expect(body.items.length).toBeGreaterThan(0);
      expect(new Set(body.items.map((one) => one.org_id))).toEqual(new Set([ours.orgId]));
    }
    const { body } = await api.get<{ items: unknown[] }>(
      `/registry/v1/service-accounts?workspace_id=${theirs.workspaceId}`,
    );
    expect(body.items).toEqual([]);
  });

  it.each([
    ['a NUL', '%00'],
    ['a NUL at its end', 'wsp_1%00'],
    ['bytes that are not UTF-8', '%ff'],
    ['a line break', 'a%0Ab'],
    ['a quote', "a'--"],
    ['a space', 'a%20b'],
    ['300 characters', 'x'.repeat(300)],
    ['half of a surrogate pair', '%ed%a0%80'],
    ['the prefix of another kind', 'usr_00000000000000000000000000'],
  ])('cannot be reached by an id with %s', async (_, id) => {
    for (const [method, path, body] of routes(id, id, id, id, id)) {
      const answer = await api.request<{ code: string }>(method, `/registry/v1${path}`, { body });
      // the parser rejects texts that are not URLs
      const expected = /%ff|%ed/.test(id) ? [400, 'invalid_request'] : [404, 'not_found'];
      expect([path, answer.status, answer.body.code]).toEqual([path, ...expected]);
    }
  });
});
