import { NO_ROLES, workspaceScope } from '#platform/scope';
import { type Answer, type ApiClient, sharedApp, type TestApp, until } from '#testing';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  outcome,
  statuses,
} from './evaluation.harness';
import { NO_SCHEMAS } from '../../../src/evaluation/datasets/datasets/dataset-schemas';
import { beginAppend } from '../../../src/evaluation/datasets/datasets/dataset.repository';

const CLIENTS = 16;
const PER_CLIENT = 20;

interface StoredRecord {
  dataset_record_id: string;
  created_revision: number;
  created_at: Date;
  input: unknown;
}

/** Independent clients write through two API processes that share a database. */
describe('records that are created concurrently', () => {
  const app = sharedApp({ env: { DATABASE_POOL_SIZE: '10' } });
  let other: TestApp;
  let space: EvaluationWorkspace;
  let clients: ApiClient[];

  beforeAll(async () => {
    other = await app.another();
    space = await EvaluationWorkspace.open(app);
    const token = await space.organization.token('editor');
    clients = Array.from({ length: CLIENTS }, (_, n) => (n % 2 ? app : other).api(token).in(space.id));
  });
  afterAll(async () => {
    await other.close();
  });

  const create = (client: ApiClient, datasetId: string, fields: object): Promise<Answer<DatasetRecord>> =>
    client.post<DatasetRecord>(`/eval/v1/datasets/${datasetId}/records`, {
      workspace_id: space.id,
      ...fields,
    });
  const bulk = (client: ApiClient, datasetId: string, fields: object): Promise<Answer<BulkResponse>> =>
    client.post<BulkResponse>(`/eval/v1/datasets/${datasetId}/records/bulk`, {
      workspace_id: space.id,
      ...fields,
    });
  const datasetNow = async (id: string): Promise<{ dataset: Dataset; revision: number }> => {
    const { body, headers } = await space.viewer.get<Dataset>(`/eval/v1/datasets/${id}`);
    return { dataset: body, revision: revisionOf(headers) };
  };
  const revisionOf = (headers: Headers): number => Number(headers.get('etag')!.replaceAll('"', ''));
  /** Records in the order of their revisions. */
  const stored = (datasetId: string): Promise<StoredRecord[]> =>
    app.database.query<StoredRecord>(
      `SELECT dataset_record_id, created_revision, created_at, input #>> '{}' AS input FROM records
       WHERE dataset_id = $1 ORDER BY created_revision, dataset_record_id`,
      [datasetId],
    );
  /** Runs `work` for each client until it returns false, and at most `PER_CLIENT` times. */
  const asAll = (work: (client: ApiClient, name: string) => Promise<unknown>): Promise<unknown> =>
    Promise.all(
      clients.map(async (client, n) => {
        for (let i = 0; i < PER_CLIENT; i++) if ((await work(client, `${n}.${i}`)) === false) return;
      }),
    );

  it('get consecutive revisions, are counted, and appear in exactly the snapshots from their revision on', async () => {
    const { dataset_id } = await space.dataset();
    const acknowledged: string[] = [];
    let isDone = false;
    const snapshots = (async () => {
      for (let n = 0; !isDone && n < 200; n++) await space.experiment({ dataset_id });
    })();
    await create(clients[0]!, dataset_id, { input: 'first' });
    await asAll(async (client, name) => {
      if (name.endsWith('3')) {
        const items = [{ input: `${name} a` }, { input: `${name} b` }];
        const { body } = await bulk(client, dataset_id, { items });
        acknowledged.push(...body.items.map(({ record }) => record!.dataset_record_id));
      } else {
        const { body, status } = await create(client, dataset_id, { input: name });
        expect(status).toBe(201);
        acknowledged.push(body.dataset_record_id);
      }
    });
    isDone = true;
    await snapshots;

    const rows = await stored(dataset_id);
    const { dataset, revision } = await datasetNow(dataset_id);
    expect(
      rows
        .slice(1)
        .map((row) => row.dataset_record_id)
        .sort(),
    ).toEqual(acknowledged.sort());
    expect(dataset.record_count).toBe(rows.length);
    const revisions = [...new Set(rows.map((row) => row.created_revision))];
    expect(revisions).toEqual(Array.from({ length: revision - 1 }, (_, n) => n + 2));
    const times = rows.map((row) => row.created_at.getTime());
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(dataset.updated_at).toBe(rows.at(-1)!.created_at.toISOString());

    const pinned = await app.database.query<{ experiment_id: string; dataset_revision: number }>(
      `SELECT experiment_id, dataset_revision FROM experiments WHERE dataset_id = $1`,
      [dataset_id],
    );
    expect(new Set(pinned.map((one) => one.dataset_revision)).size).toBeGreaterThan(3);
    const step = Math.ceil(pinned.length / 20);
    for (const { experiment_id, dataset_revision } of pinned.filter((_, n) => n % step === 0)) {
      const { dataset_snapshot } = await space.finalize(experiment_id);
      const references = dataset_snapshot!.records as { dataset_record_id: string }[];
      const upTo = rows.filter((row) => row.created_revision <= dataset_revision);
      expect(references.map((one) => one.dataset_record_id).sort()).toEqual(
        upTo.map((row) => row.dataset_record_id).sort(),
      );
    }
  });

  it('meet the schema of their dataset at their revision, even while it changes', async () => {
    const { dataset_id } = await space.dataset();
    const path = `/eval/v1/datasets/${dataset_id}`;
    /** The type that the dataset required from each revision on. */
    const required: { from: number; type: string | null }[] = [{ from: 1, type: null }];
    let isDone = false;
    const patches = (async () => {
      for (let n = 0; !isDone; n++) {
        const type = [null, 'string', 'integer'][n % 3]!;
        const patch = { input_schema: type && { type } };
        const { headers, status } = await space.editor.patch<Dataset>(path, patch);
        expect(status).toBe(200);
        required.push({ from: revisionOf(headers), type });
      }
    })();
    const seen = new Set<number>();
    await asAll(async (client, name) => {
      const input = Number(name.split('.')[1]) % 2 ? name : 7;
      const { status } = await create(client, dataset_id, { input });
      seen.add(status);
    });
    isDone = true;
    await patches;
    expect([...seen].sort().slice(0, 2)).toEqual([201, 400]);
    const rows = await stored(dataset_id);
    const broken = rows.filter(({ created_revision, input }) => {
      const { type } = required.filter(({ from }) => from < created_revision).at(-1)!;
      return type !== null && type !== (input === '7' ? 'integer' : 'string');
    });
    expect(broken).toEqual([]);
    expect((await datasetNow(dataset_id)).dataset.record_count).toBe(rows.length);
  });

  it('are rejected once their dataset is archived, and none that was accepted is lost', async () => {
    const { dataset_id } = await space.dataset();
    let created = 0;
    const refused: unknown[] = [];
    const archived = (async () => {
      await until(() => Promise.resolve(created >= CLIENTS * 2));
      await space.archive(`/eval/v1/datasets/${dataset_id}`);
    })();
    await asAll(async (client, name) => {
      const answer = await create(client, dataset_id, { input: name });
      if (answer.status === 201) return (created++, true);
      refused.push(outcome(answer));
      return false;
    });
    await archived;
    expect(refused).toEqual(refused.map(() => [409, 'conflict']));
    const rows = await stored(dataset_id);
    const { dataset, revision } = await datasetNow(dataset_id);
    expect([rows.length, dataset.record_count]).toEqual([created, created]);
    expect(rows.at(-1)!.created_revision).toBeLessThan(revision);
    expect((await create(clients[0]!, dataset_id, { input: 'late' })).status).toBe(409);
  });

  it('are stored once per external_id: others are 409, or in bulk handled by on_conflict', async () => {
    const { dataset_id } = await space.dataset();
    for (let round = 0; round < PER_CLIENT; round++) {
      const external_id = `case ${round}`;
      const answers = await Promise.all(
        clients.map((client) => create(client, dataset_id, { input: 'x', external_id })),
      );
      const [winner] = answers.filter((answer) => answer.status === 201);
      for (const answer of answers.filter((one) => one !== winner)) {
        expect(outcome(answer)).toEqual([409, 'conflict']);
        expect(JSON.stringify(answer.body)).toContain(winner!.body.dataset_record_id);
      }
    }
    const items = Array.from({ length: 5 }, (_, n) => ({ input: n, external_id: `bulk ${n}` }));
    const [skipping, updating] = [clients.slice(0, 4), clients.slice(4, 8)];
    const skipped = await Promise.all(
      skipping.map((client) => bulk(client, dataset_id, { items, on_conflict: 'skip' })),
    );
    expect(skipped.flatMap(statuses).sort()).toEqual([
      ...Array<number>(15).fill(200),
      ...Array<number>(5).fill(201),
    ]);
    const updated = await Promise.all(
      updating.map((client, by) =>
        bulk(client, dataset_id, {
          items: items.map((item) => ({ ...item, input: { by } })),
          on_conflict: 'update',
        }),
      ),
    );
    expect(updated.flatMap(statuses)).toEqual(Array<number>(20).fill(200));
    const { dataset } = await datasetNow(dataset_id);
    expect(dataset.record_count).toBe(PER_CLIENT + items.length);
    const versions = await app.database.query<{ version: number }>(
      `SELECT version FROM records WHERE dataset_id = $1 AND external_id LIKE 'bulk %'`,
      [dataset_id],
    );
    expect(versions.map(({ version }) => version)).toEqual(items.map(() => 1 + updating.length));
  });

  it('are stored once per Idempotency-Key', async () => {
    const { dataset_id } = await space.dataset();
    const path = `/eval/v1/datasets/${dataset_id}/records`;
    const body = { workspace_id: space.id, input: 'once' };
    const answers = await Promise.all(
      clients.map((client) => client.post<DatasetRecord>(path, body, { 'idempotency-key': 'once' })),
    );
    const made = answers.filter((answer) => answer.status === 201);
    expect(new Set(made.map((answer) => answer.body.dataset_record_id)).size).toBe(1);
    expect((await datasetNow(dataset_id)).dataset.record_count).toBe(1);
  });

  it('update their dataset without writing to its indexes', async () => {
    const { dataset_id } = await space.dataset();
    const scope = workspaceScope(space.organization.orgId, space.id, 'test', NO_ROLES);
    const [before, after] = await app.database.transaction(async (tx) => {
      // Both counts include unreported changes of the connection, which may precede the transaction.
      const count = async () => {
        const [row] = await tx.query<{ all: number; hot: number }>(
          `SELECT pg_stat_get_xact_tuples_updated('datasets'::regclass) AS all,
                  pg_stat_get_xact_tuples_hot_updated('datasets'::regclass) AS hot`,
        );
        return row!;
      };
      const earlier = await count();
      for (let n = 0; n < 20; n++) await tx.query(beginAppend(scope, dataset_id, NO_SCHEMAS, 1));
      return [earlier, await count()];
    });
    expect(after.all - before.all).toBe(20);
    // The first update in a minute writes to the indexes, and so does one that does not fit into its page.
    expect(after.hot - before.hot).toBeGreaterThan(10);
  });
});
