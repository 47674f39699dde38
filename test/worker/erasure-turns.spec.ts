import { randomUUID } from 'node:crypto';
import { type ApiClient, newOrganization, ownApp, sharedJudge, until } from '#testing';
import { ErasureRepository } from '../../src/resources/erasure/erasure.repository';
import { receiptOf } from './erasure.fixture';

const ERASURES = '/registry/v1/erasures';

describe('erasures of several organizations', () => {
  const judged = sharedJudge();

  const post = async (client: ApiClient, path: string, body: object): Promise<any> => {
    const answer = await client.post(path, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };

  /** Creates an archived dataset with a record, and returns its id. */
  async function archivedDataset(client: ApiClient, workspace_id: string): Promise<string> {
    const { dataset_id } = await post(client, '/eval/v1/datasets', { workspace_id, name: randomUUID() });
    await post(client, `/eval/v1/datasets/${dataset_id}/records`, { workspace_id, input: 'a' });
    await post(client, `/eval/v1/datasets/${dataset_id}/archive`, {});
    return dataset_id;
  }

  const erase = async (client: ApiClient, dataset: string): Promise<string> =>
    (await client.delete(`/eval/v1/datasets/${dataset}`)).body.erasure_id;

  it('leave a place to others, although one organization has more of them than there are places', async () => {
    const [many, few] = [await newOrganization(judged.app), await newOrganization(judged.app)];
    const [busy, other] = [await many.as('owner'), await few.as('owner')];
    const datasets: string[] = [];
    for (let n = 0; n < 5; n++) datasets.push(await archivedDataset(busy, many.workspaceId));
    const dataset = await archivedDataset(other, few.workspaceId);
    const ids: string[] = [];
    const running = async (): Promise<number> => {
      const all = await Promise.all(ids.map((id) => busy.get(`${ERASURES}/${id}`)));
      return all.filter(({ body }) => body.erasure_status === 'running').length;
    };
    await judged.app.database.transaction(async (tx) => {
      // the erasures of these datasets wait until the end of this transaction
      await tx.query('SELECT FROM records WHERE dataset_id = ANY ($1) FOR UPDATE', [datasets]);
      for (const one of datasets) ids.push(await erase(busy, one));
      await until(async () => (await running()) === 2);
      await receiptOf(other, await erase(other, dataset));
      expect(await running()).toBe(2);
    });
    for (const id of ids) await receiptOf(busy, id);
  });
});

describe('the turns of organizations', () => {
  const app = ownApp();
  const claim = async (...fullOrgs: string[]): Promise<string> => {
    const claimed = await app.get(ErasureRepository).claim(randomUUID(), fullOrgs);
    return typeof claimed === 'string' ? claimed : claimed.erasure_id;
  };
  const isOrgWaiting = () => app.get(ErasureRepository).isOrgWaiting();

  it('do not depend on the number and the age of their erasures', async () => {
    const [many, few] = [await newOrganization(app), await newOrganization(app)];
    const request = async (client: ApiClient, user: string): Promise<string> =>
      (await client.post(ERASURES, { subject: { kind: 'end_user', id: user } })).body.erasure_id;
    const [busy, other] = [await many.as('owner'), await few.as('owner')];
    const first = [await request(busy, 'a'), await request(busy, 'b'), await request(busy, 'c')];
    expect([await claim(), await claim()]).toEqual(first.slice(0, 2));
    expect(await isOrgWaiting()).toBe(false);
    const second = [await request(other, 'a'), await request(other, 'b')];
    expect(await isOrgWaiting()).toBe(true);
    expect([await claim(), await isOrgWaiting(), await claim(many.orgId)]).toEqual([
      second[0],
      false,
      second[1],
    ]);
    expect(await claim(many.orgId)).toBe('full');
    expect([await claim(), await claim()]).toEqual([first[2], 'none']);
  });

  it('end when an organization has too many erasures that have not ended (429)', async () => {
    const org = await newOrganization(app);
    const admin = await org.as('owner');
    await app.database.query(
      `INSERT INTO erasures (erasure_id, org_id, subject_kind, subject_hash, dry_run, erasure_status, counts, created_at,
                             updated_at, created_by)
       SELECT 'era_' || n, $1, 'end_user', n::text, true, 'queued', '{}', now(), now(), '' FROM generate_series(1, 1000) n`,
      [org.orgId],
    );
    const body = { subject: { kind: 'end_user', id: 'a' } };
    const refused = await admin.post(ERASURES, body);
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'rate_limited',
      '10',
    ]);
    await app.database.query(`UPDATE erasures SET erasure_status = 'succeeded' WHERE erasure_id = 'era_1'`);
    expect((await admin.post(ERASURES, body)).status).toBe(202);
  });
});
