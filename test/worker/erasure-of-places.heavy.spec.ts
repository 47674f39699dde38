import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import {
  type ApiClient,
  createTestApp,
  createTestWorker,
  describeWithS3,
  newOrganization,
  type OwnRedis,
  ownRedis,
  type TestApp,
  type TestOrganization,
  type TestWorker,
} from '#testing';
import { populate } from '../e2e/tenancy/population';
import { digestOf } from '../e2e/tenancy/tenant-digest';
import { contentOfRedis, occurrencesOf, receiptOf, storedFilesOf } from './erasure.fixture';

const MARKER = 'zqxjkvbw';
const SETTLED = { ERASURE_SETTLE_SECONDS: '0' };

/** Organizations with one resource of each kind. One is erased, the other must not change. */
interface Places {
  app: TestApp;
  erased: TestOrganization;
  owner: ApiClient;
  platform: ApiClient;
}

async function newPlaces(app: TestApp): Promise<Places> {
  const [erased, other] = [await newOrganization(app), await newOrganization(app)];
  const owner = await erased.member('owner');
  await populate(owner, erased.workspaceId, MARKER);
  await populate(await other.member('owner'), other.workspaceId, 'vbnmpoiu');
  const platform = app.api(await app.issuer.issueToken({ sub: 'operator', principal_type: 'platform' }));
  return { app, erased, owner, platform };
}

describe('the erasure of a place', () => {
  let app: TestApp;
  let worker: TestWorker;
  let redis: OwnRedis | undefined;

  afterEach(async () => {
    await worker.close();
    await app.close();
    await redis?.stop();
    redis = undefined;
  });

  async function start(env: Record<string, string> = {}): Promise<Places> {
    app = await createTestApp({ env: { ...SETTLED, ...env } });
    worker = await createTestWorker(app);
    await worker.stopPeriodicTasks();
    return newPlaces(app);
  }

  /** Erases the organization, and checks that nothing but the receipt is left of it in the database. */
  async function erase({ erased, owner, platform }: Places): Promise<void> {
    const preview = await owner.post('/registry/v1/erasures', {
      subject: { kind: 'org', id: erased.orgId },
      dry_run: true,
    });
    const { counts: expected } = await receiptOf(owner, preview.body.erasure_id);
    const erasure = await owner.delete('/registry/v1/org');
    expect(erasure.status).toBe(202);
    expect((await owner.get('/registry/v1/org')).body.code).toBe('account_suspended');
    const receipt = await receiptOf(platform, erasure.body.erasure_id);
    expect(receipt.counts).toMatchObject({
      traces: 2,
      spans: 2,
      records: 1,
      results: 1,
      scores: 2,
      files: 1,
      skills: 3,
    });
    expect(receipt.counts).toMatchObject({
      traces: expected.traces,
      results: expected.results,
      files: expected.files,
    });
    expect(await occurrencesOf(app, [MARKER, erased.orgId, erased.workspaceId])).toEqual([]);
    expect((await owner.get('/registry/v1/me')).status).toBe(401);
  }

  it('leaves nothing of an organization in the database, the queue and the storage directory', async () => {
    const places = await start();
    const [files] = [await storedFilesOf(app)];
    expect(files.some((file) => file.includes(places.erased.orgId))).toBe(true);
    await erase(places);
    const left = await storedFilesOf(app);
    expect(left.filter((file) => file.includes(places.erased.orgId))).toEqual([]);
    expect(left.length).toBeGreaterThan(0);
  }, 120_000);

  it('deletes a workspace, and nothing of the others', async () => {
    const places = await start();
    const { erased, owner } = places;
    const sibling = await erased.newWorkspace();
    await populate(owner, sibling, 'sibling');
    const before = await digestOf(app.database, erased.orgId, sibling, 'placed');
    const path = `/registry/v1/workspaces/${erased.workspaceId}`;
    expect((await owner.delete(path)).body.detail).toContain('Archive it before you delete it');
    await owner.post(`${path}/archive`);
    const erasure = await owner.delete(path);
    expect((await owner.post(`${path}/restore`)).body.detail).toContain(erasure.body.erasure_id);
    await receiptOf(owner, erasure.body.erasure_id as string);
    expect((await owner.get(path)).status).toBe(404);
    // earlier receipts of the workspace name it, and the audit entries of the organization's accounts
    const left = await occurrencesOf(app, [erased.workspaceId]);
    expect(left.map(({ table }) => table)).toEqual(['public.audit_log', 'public.erasures']);
    // the store numbers the items of an organization without gaps
    const after = await digestOf(app.database, erased.orgId, sibling, 'placed');
    expect({ ...after, store_items: '' }).toEqual({ ...before, store_items: '' });
  }, 120_000);

  describeWithS3('with Redis and a bucket', (createBucket) => {
    it('leaves nothing of an organization in the queue and in the bucket', async () => {
      redis = await ownRedis();
      if (!redis) throw new Error('This test needs an installed redis-server.');
      const bucket = await createBucket();
      const objects = async () =>
        (await bucket.client.send(new ListObjectsV2Command({ Bucket: bucket.name }))).Contents ?? [];
      try {
        const places = await start({ REDIS_URL: redis.url, STORAGE_URL: bucket.url() });
        const ofErased = async () =>
          (await objects()).filter(({ Key }) => Key!.includes(places.erased.orgId));
        expect((await ofErased()).length).toBeGreaterThan(0);
        await erase(places);
        expect(await ofErased()).toEqual([]);
        expect((await objects()).length).toBeGreaterThan(0);
        const queue = await contentOfRedis(redis.url);
        expect(
          [MARKER, places.erased.orgId, places.erased.workspaceId].filter((one) => queue.includes(one)),
        ).toEqual([]);
      } finally {
        bucket.client.destroy();
      }
    }, 180_000);
  });
});
