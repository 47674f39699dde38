import { createHash } from 'node:crypto';
import { sharedApp } from '#testing';
import { EvaluationWorkspace, type Experiment, type RecordVersion } from './evaluation.harness';

interface Reference {
  dataset_record_id: string;
  version: number;
}

/** One change of a record, from the time of its request to the time of the response. */
interface Change {
  /** The version that the change created, or `archived`. */
  version: number | 'archived';
  sent: number;
  answered: number;
}

/** RFC 8785 for the records of snapshots: members sorted by UTF-16 code units, no spaces, and ECMAScript numbers. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

const digestOf = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('hex');

const recordsOf = (experiment: Experiment) => experiment.dataset_snapshot!.records as Reference[];

describe('the snapshot of a dataset', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('is consistent under concurrent changes', async () => {
    const { dataset_id } = await space.dataset();
    const pathOf = (id: string) => `/eval/v1/datasets/${dataset_id}/records/${id}`;
    let clock = 0;
    const history = new Map<string, Change[]>();
    const timed = async <Answer>(work: () => Promise<Answer>) => {
      const sent = ++clock;
      const answer = await work();
      return { answer, sent, answered: ++clock };
    };
    const add = async () => {
      const { answer, ...times } = await timed(() => space.record(dataset_id, { input: 0 }));
      history.set(answer.dataset_record_id, [{ version: 1, ...times }]);
    };
    for (let count = 0; count < 6; count++) await add();
    /** Changes a record repeatedly, then archives it, while other records are added. */
    const editor = async (id: string, edits: number) => {
      for (let input = 1; input <= edits; input++) {
        const { answer, ...times } = await timed(() => space.editor.patch(pathOf(id), { input }));
        expect([answer.status, answer.body.version]).toEqual([200, input + 1]);
        history.get(id)!.push({ version: input + 1, ...times });
      }
      const { answer, ...times } = await timed(() => space.evaluator.post(`${pathOf(id)}/archive`));
      expect(answer.status).toBe(200);
      history.get(id)!.push({ version: 'archived', ...times });
    };
    const created: { experiment: Experiment; sent: number; answered: number }[] = [];
    const creator = async () => {
      for (let round = 0; round < 12; round++) {
        const { answer, ...times } = await timed(() => space.experiment({ dataset_id }));
        created.push({ experiment: answer, ...times });
      }
    };
    const adder = async () => {
      for (let round = 0; round < 8; round++) await add();
    };
    const ids = [...history.keys()];
    await Promise.all([...ids.map((id, index) => editor(id, 3 + index)), creator(), creator(), adder()]);

    for (const { experiment, sent, answered } of created) {
      const final = await space.finalize(experiment.experiment_id);
      const inSnapshot = new Map(recordsOf(final).map((one) => [one.dataset_record_id, one.version]));
      for (const [id, changes] of history) {
        // Shows a change that was acknowledged before, or one that was sent before the experiment was acknowledged.
        const latest = changes.filter((one) => one.answered < sent).at(-1)?.version ?? 'archived';
        const open = changes.filter((one) => one.answered > sent && one.sent < answered);
        expect([latest, ...open.map((one) => one.version)]).toContain(inSnapshot.get(id) ?? 'archived');
        inSnapshot.delete(id);
      }
      expect([...inSnapshot]).toEqual([]);
      expect(final.dataset_snapshot!.record_count).toBe(recordsOf(final).length);
    }
    // The test is meaningful only if experiments were created between the changes.
    expect(new Set(created.map(({ experiment }) => experiment.created_at)).size).toBeGreaterThan(1);
  });

  it('references versions that stay readable', async () => {
    const { dataset_id } = await space.dataset();
    const record = await space.record(dataset_id, { input: { z: 1, a: ['first'] }, expected: 1 });
    const path = `/eval/v1/datasets/${dataset_id}/records/${record.dataset_record_id}`;
    const { experiment_id } = await space.experiment({ dataset_id });
    await space.editor.patch(path, { input: 'second', expected: null });
    await space.archive(path);
    const [reference] = recordsOf(await space.finalize(experiment_id));
    const { status, body } = await space.viewer.get<RecordVersion>(`${path}/versions/${reference!.version}`);
    expect([status, body.version, body.input, body.expected]).toEqual([200, 1, { z: 1, a: ['first'] }, 1]);
  });

  it('has a digest that clients can recompute from the records', async () => {
    const { dataset_id } = await space.dataset();
    const items = Array.from({ length: 25 }, (_, input) => ({ input }));
    await space.post(`/eval/v1/datasets/${dataset_id}/records/bulk`, { items });
    const { experiment_id } = await space.experiment({ dataset_id });
    const { dataset_snapshot: snapshot } = await space.finalize(experiment_id);
    const records = snapshot!.records as Reference[];
    expect([records.length, snapshot!.sha256]).toEqual([25, digestOf(records)]);
    // The digest changes with any of them.
    const forged = records.map((one, index) => (index === 24 ? { ...one, version: 2 } : one));
    expect(digestOf(forged)).not.toBe(snapshot!.sha256);
    expect(digestOf(records.slice(1))).not.toBe(snapshot!.sha256);
  });

  it('"records in a dataset snapshot: 10,000": an experiment over 10,001 is 400', async () => {
    const { dataset_id } = await space.dataset();
    const fill = (from: number, to: number) =>
      app.database.query(
        `WITH new_record AS (
           INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, created_revision, created_by)
           SELECT 'rec_' || $1::text || lpad(n::text, 6, '0'), $1, $2, 'ver_' || $1::text || n, 1, 'test'
           FROM generate_series($3::int, $4::int) n RETURNING *
         ), versions AS (
           INSERT INTO record_versions (dataset_record_id, version, version_id, dataset_id, workspace_id, revision,
                                        metadata, tags, source_kind, created_by)
           SELECT dataset_record_id, version, version_id, dataset_id, workspace_id, 1, metadata, tags, source_kind, 'test'
           FROM new_record
         )
         UPDATE datasets SET record_count = $4 WHERE dataset_id = $1`,
        [dataset_id, space.id, from, to],
      );
    await fill(1, 9_999);
    await space.record(dataset_id);
    const { experiment_id } = await space.experiment({ dataset_id });
    const extra = await space.record(dataset_id);
    const create = () => space.post('/eval/v1/experiments', { name: 'n', dataset_id });
    const refused = await create();
    expect([refused.status, (refused.body as { detail: string }).detail]).toEqual([
      400,
      '/dataset_id: has 10001 records, but a snapshot can have at most 10000. Use dataset_filter, or pin a CSV version',
    ]);
    const final = await space.finalize(experiment_id);
    expect([final.dataset_snapshot!.record_count, recordsOf(final).length]).toEqual([10_000, 10_000]);
    expect(final.dataset_snapshot!.sha256).toBe(digestOf(recordsOf(final)));
    expect(recordsOf(final).map((one) => one.dataset_record_id)).not.toContain(extra.dataset_record_id);
    await space.archive(`/eval/v1/datasets/${dataset_id}/records/${extra.dataset_record_id}`);
    expect((await create()).status).toBe(201);
  });
});
