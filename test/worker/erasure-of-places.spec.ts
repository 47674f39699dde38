import {
  ApiClient,
  createTestWorker,
  newOrganization,
  ownApp,
  type TestOrganization,
  type TestWorker,
} from '#testing';
import { populate } from '../e2e/tenancy/population';
import { occurrencesOf } from './erasure.fixture';

describe('the erasure of a place', () => {
  const app = ownApp();
  let worker: TestWorker;
  let platform: ApiClient;

  beforeAll(async () => {
    worker = await createTestWorker(app, { ERASURE_SETTLE_SECONDS: '0' });
    platform = app.api(await app.issuer.issueToken({ sub: 'operator', principal_type: 'platform' }));
  });
  afterAll(() => worker.close());

  it('leaves nothing of an organization but the receipt', async () => {
    const org: TestOrganization = await newOrganization(app);
    const other = await newOrganization(app);
    const owner = await org.member('owner');
    await populate(owner, org.workspaceId, 'zqxjkvbw');
    const kept = await populate(await other.member('owner'), other.workspaceId, 'vbnmpoiu');
    const erasure = await owner.delete('/registry/v1/org');
    expect(erasure.status).toBe(202);
    expect((await owner.get('/registry/v1/org')).status).toBe(403);
    await new Promise((r) => setTimeout(r, 6000));
    const receipt = (await platform.get('/registry/v1/erasures/' + erasure.body.erasure_id)).body;
    console.log(JSON.stringify(receipt));
    console.log(JSON.stringify(await occurrencesOf(app, ['zqxjkvbw', org.orgId, org.workspaceId])));
    expect(kept).toBeDefined();
  });
});
