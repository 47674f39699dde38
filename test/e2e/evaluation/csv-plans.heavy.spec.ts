import { ownApp } from '#testing';
import type { Scope } from '#platform/auth';
import {
  DatasetVersionRepository,
  type DatasetVersionRow,
} from '../../../src/evaluation/datasets/versions/dataset-version.repository';
import { uploadVersion, versionsOf } from './dataset-versions.fixture';
import { type BulkResponse, EvaluationWorkspace, statuses } from './evaluation.harness';
import { nodesOf, type Plan, plansWithin, scansOf } from './plans.harness';

const CONTENT = 1_000_000;

/** Results of a pinned CSV version do not slow down with other files. */
describe('queries for the rows of a CSV version', () => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;
  let versions: DatasetVersionRepository;
  let version: DatasetVersionRow;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    versions = app.get(DatasetVersionRepository);
    const { dataset_id } = await space.dataset();
    version = {
      ...{ dataset_id, workspace_id: space.id, version: 1, version_id: 'ver_x', content_id: CONTENT + 1 },
      ...{ row_count: 400, columns: ['id'], size_bytes: 1, sha256: 'x', case_id_column: 'id' },
      mapping: { input: [], expected: [], metadata: [], tags: [] },
      ...{ options_sha256: 'x', created_at: new Date(), created_by: 'test' },
    };
    await app.database.transaction((tx) => versions.insert(tx, version));
  });

  /** Inserts files with 400 cases and 40 chunks each. */
  async function fill(from: number, to: number): Promise<void> {
    await app.database.query(
      `INSERT INTO dataset_cases (content_id, workspace_id, case_id, row_number)
       SELECT $1 + content, $4, 'case ' || n, n FROM generate_series($2::int, $3) content, generate_series(1, 400) n`,
      [CONTENT, from, to, space.id],
    );
    await app.database.query(
      `INSERT INTO dataset_chunks (content_id, workspace_id, ordinal, rows_before, data)
       SELECT $1 + content, $4, n, n * 200, convert_to(repeat('x', 100), 'UTF8')
       FROM generate_series($2::int, $3) content, generate_series(0, 39) n`,
      [CONTENT, from, to, space.id],
    );
  }
  const analyze = () => app.database.query('ANALYZE dataset_cases, dataset_chunks');

  const ids = Array.from({ length: 100 }, (_, n) => `case ${n * 4}`);
  const scope = () => ({ workspaceId: space.id }) as Scope;
  const planOfCases = async (): Promise<Plan> => {
    const [, plan] = await plansWithin(app, (tx) =>
      versions.existingCases(tx, scope(), version.dataset_id, 1, ids),
    );
    return plan!;
  };
  function indexOf(plan: Plan): unknown[] {
    const scans = scansOf([plan]);
    expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    return scans.flatMap((node) => node['Index Name'] ?? []);
  }

  it('use an index, before and after ANALYZE', async () => {
    await fill(1, 1);
    await analyze();
    // An index of one page gains nothing, but the table is read only once.
    const small = nodesOf(await planOfCases());
    expect(small.map((node) => node['Parent Relationship'])).not.toContain('SubPlan');
    expect(small.filter((node) => node['Relation Name'] === 'dataset_cases')).toHaveLength(1);
    await fill(2, 400);
    for (const prepare of [() => undefined, analyze]) {
      await prepare();
      expect(indexOf(await planOfCases())).toEqual(['dataset_cases_pkey']);
      for (const place of [{ ordinal: 7 }, { row: 7 }]) {
        const [plan] = await plansWithin(app, () => versions.chunk(scope(), CONTENT + 1, place));
        expect(indexOf(plan!)).toEqual(['dataset_chunks_pkey']);
      }
    }
  });

  it('are never prepared, so that no stale plan is used', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id,q\nc1,a\nc2,b\n');
    const { experiment_id } = await space.experiment({ dataset_id, dataset_version: 1 });
    // PostgreSQL caches the plan of a named statement from its sixth execution on.
    for (let n = 0; n < 8; n++) {
      const results = await space.post<BulkResponse>(`/eval/v1/experiments/${experiment_id}/results/bulk`, {
        items: [{ case_id: 'c1' }, { case_id: 'nope' }],
      });
      expect(statuses(results)).toEqual([n === 0 ? 201 : 409, 400]);
      for (const path of ['rows', 'content']) {
        expect((await space.viewer.get(`${versionsOf(dataset_id)}/1/${path}`)).status).toBe(200);
      }
    }
    const prepared = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.database.transaction((tx) =>
          tx.query('SELECT name FROM pg_prepared_statements WHERE statement ~ $1', [
            'dataset_(cases|chunks)',
          ]),
        ),
      ),
    );
    expect(prepared.flat()).toEqual([]);
  });
});
