import { runRequest, setCurrentOwner } from '#platform/concurrency';
import { workspaceScope } from '#platform/auth';
import { ownApp, newOrganization, type TestOrganization } from '#testing';
import { RecordRepository } from '../../../src/evaluation/datasets/records/record.repository';
import { DatasetRepository } from '../../../src/evaluation/datasets/datasets/dataset.repository';

/** Connections of a process that one organization may use (6 of 10). */
const SHARE = 6;

describe('concurrent reads by key', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: '10' } });
  let organization: TestOrganization;
  let ids: string[];
  let recordIds: string[];

  beforeAll(async () => {
    organization = await newOrganization(app);
    const { workspaceId: workspace_id } = organization;
    const editor = app.api(await organization.token('editor')).in(workspace_id);
    const created = await Promise.all(
      ['one', 'other'].map((name) =>
        editor.post<{ dataset_id: string }>('/eval/v1/datasets', { workspace_id, name }),
      ),
    );
    ids = created.map(({ body }) => body.dataset_id);
    const items = ['small', 'other', 'large'].map((label) => ({
      input: label === 'large' ? 'x'.repeat(100_000) : label,
      label,
    }));
    const { body } = await editor.post<{ items: { record: { dataset_record_id: string } }[] }>(
      `/eval/v1/datasets/${ids[0]}/records/bulk`,
      { workspace_id, items },
    );
    recordIds = body.items.map(({ record }) => record.dataset_record_id);
  });

  const scope = () => workspaceScope(organization.orgId, organization.workspaceId, 'test', new Set());

  /** Runs work as in a request from the organization. */
  const inRequest = <Result>(work: () => Promise<Result>): Promise<Result> =>
    new Promise((resolve, reject) =>
      runRequest(() => {
        setCurrentOwner(organization.orgId);
        work().then(resolve, reject);
      }),
    );

  it('return their own rows, whatever their size, and null for unknown ids', async () => {
    const records = app.get(RecordRepository);
    const requestedIds = [...recordIds, 'rec_00000000000000000000000000', recordIds[0]!];
    const rows = await Promise.all(requestedIds.map((id) => inRequest(() => records.find(scope(), id))));
    expect(rows.map((row) => row?.label ?? null)).toEqual(['small', 'other', 'large', null, 'small']);
    expect(rows[0]).not.toBe(rows[4]);
  });

  it('find nothing in another workspace', async () => {
    const datasets = app.get(DatasetRepository);
    const other = workspaceScope(organization.orgId, await organization.newWorkspace(), 'test', new Set());
    const rows = await Promise.all([
      inRequest(() => datasets.find(other, ids[0]!)),
      inRequest(() => datasets.find(scope(), ids[0]!)),
      inRequest(() => datasets.find(other, ids[1]!)),
    ]);
    expect(rows.map((row) => row?.name ?? null)).toEqual([null, 'one', null]);
  });

  it('do not wait in transactions that occupy all connections of their organization', async () => {
    const datasets = app.get(DatasetRepository);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let started = 0;
    const within = Array.from({ length: SHARE }, () =>
      inRequest(() =>
        app.database.transaction(async () => {
          started += 1;
          await released;
          return datasets.find(scope(), ids[0]!);
        }),
      ),
    );
    while (started < SHARE) await new Promise(setImmediate);
    // waits for a connection; the reads of the transactions start in the same turn of the event loop
    const waiting = inRequest(() => datasets.find(scope(), ids[1]!));
    release();
    const rows = await Promise.all([...within, waiting]);
    expect(rows.map((row) => row?.name)).toEqual([...Array<string>(SHARE).fill('one'), 'other']);
  });
});
