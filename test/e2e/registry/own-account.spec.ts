import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { newId } from '#platform/ids';

const ACCOUNTS = '/registry/v1/service-accounts';
const USERS = '/registry/v1/users';

/** Otherwise, the last holder of a role could remove it from the organization for good. */
describe('the caller’s own account', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.member('owner');
  });

  it('cannot archive, suspend or demote itself as a service account', async () => {
    const body = { name: 'keeper', roles: ['owner'], workspace_ids: ['*'] };
    const id = (await owner.post<{ service_account_id: string }>(ACCOUNTS, body)).body.service_account_id;
    const { key } = (await owner.post<{ key: string }>(`${ACCOUNTS}/${id}/keys`, { name: 'k' })).body;
    const [itself, path] = [app.api(key), `${ACCOUNTS}/${id}`];
    const answers = [
      await itself.post(`${path}/archive`),
      await itself.patch(path, { status: 'suspended' }),
      await itself.patch(path, { roles: ['viewer'] }),
      await itself.patch(path, { roles: null }),
      await itself.patch(path, { workspace_ids: [org.workspaceId] }),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual(
      answers.map(() => [409, 'conflict']),
    );
    const patched = await itself.patch(path, { description: 'kept', roles: ['owner', 'viewer'] });
    expect(patched.body).toMatchObject({ ...body, description: 'kept', status: 'active', archived_at: null });
    expect((await owner.patch(path, { roles: ['viewer'] })).status).toBe(200);
    expect((await owner.post(`${path}/archive`)).status).toBe(200);
  });

  it('cannot suspend or demote itself as a user', async () => {
    const user_id = newId('usr');
    await owner.post(USERS, { user_id, roles: ['admin'] });
    const itself = app.api(await org.tokenOf(user_id));
    const answers = [
      await itself.patch(`${USERS}/${user_id}`, { status: 'suspended' }),
      await itself.patch(`${USERS}/${user_id}`, { roles: ['viewer'] }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 409]);
    expect((await itself.patch(`${USERS}/${user_id}`, { display_name: 'Ada' })).status).toBe(200);
    expect((await owner.patch(`${USERS}/${user_id}`, { status: 'suspended' })).status).toBe(200);
  });
});
