import { createHash } from 'node:crypto';
import { type Answer, sharedApp } from '#testing';
import {
  type BulkResponse,
  type Dataset,
  EvaluationWorkspace,
  type Experiment,
  outcome,
  type Page,
  type Result,
  statusesOf,
  TIME,
} from './evaluation.harness';
import { fillResultScores } from './result-scores.fixture';

type Fields = Record<string, unknown>;

interface SnapshotRecord {
  dataset_record_id: string;
  version: number;
}

const EXPERIMENTS = '/eval/v1/experiments';

/** The summary of an experiment without results, except for its metrics. */
const EMPTY_SUMMARY = {
  scores: {},
  scorers: {},
  coverage: { expected_case_count: null, result_count: 0, error_count: 0, scorers: {} },
  is_truncated: false,
  is_scorers_truncated: false,
};

describe('on finalization,', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const patch = (id: string, fields: Fields, headers?: Record<string, string>) =>
    space.editor.patch<Experiment>(`${EXPERIMENTS}/${id}`, fields, headers);
  const read = async (id: string): Promise<Experiment> =>
    (await space.viewer.get<Experiment>(`${EXPERIMENTS}/${id}`)).body;
  const countOf = async (id: string): Promise<number | null> =>
    (await space.viewer.get<Page<Result>>(`${EXPERIMENTS}/${id}/results?limit=0`)).body.page.total;

  /** Inserts results into an experiment. @param scores an SQL expression of the row number n */
  const fill = async (experimentId: string, from: number, to: number, scores: string) => {
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
       FROM generate_series($3::int, $4::int) n ORDER BY n % 7`,
      [experimentId, space.id, from, to],
    );
    await fillResultScores(app.database, experimentId, { scores });
  };

  describe('the summary', () => {
    it('has exact means, without null scores, and with booleans as 1 and 0', async () => {
      const { experiment_id: id } = await space.experiment();
      const scores: Fields[] = [
        { decimal: 0.1, right: true, some: null, huge: 1e300, third: 1, only: { score: 0.125 }, none: null },
        { decimal: 0.2, right: false, some: 1, huge: -1e300, third: 0, none: { score: null } },
        { decimal: 0.3, right: true, some: { score: null }, huge: 3, third: 0 },
        { right: { score: true }, some: 0 },
        {},
      ];
      expect(
        await space.results(
          id,
          scores.map((one, i) => ({ case_id: `${i}`, scores: one })),
        ),
      ).toEqual(scores.map(() => 201));
      const { summary } = await space.finalize(id);
      expect(summary).toEqual({
        scores: {
          decimal: { mean: 0.2, count: 3 },
          right: { mean: 0.75, count: 4 },
          some: { mean: 0.5, count: 2 },
          huge: { mean: 1, count: 3 },
          third: { mean: 1 / 3, count: 3 },
          only: { mean: 0.125, count: 1 },
        },
        scorers: {},
        metrics: null,
        coverage: expect.objectContaining({
          expected_case_count: null,
          result_count: 5,
          error_count: 0,
        }) as object,
        is_truncated: false,
        is_scorers_truncated: false,
      });
    });

    it('is computed even without results', async () => {
      const before = await space.experiment();
      const { status, headers, body } = await patch(before.experiment_id, { experiment_status: 'completed' });
      expect([status, headers.get('etag')]).toEqual([200, '"2"']);
      expect(body).toEqual({
        ...before,
        experiment_status: 'completed',
        summary: { ...EMPTY_SUMMARY, metrics: null },
        finalized_at: expect.stringMatching(TIME) as string,
        updated_at: body.finalized_at,
      });
      const after = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${before.experiment_id}`);
      expect(after.headers.get('etag')).toBe('"2"');
      expect(after.body).toEqual(body);
    });

    it('covers the first 10,000 results, and reports truncation', async () => {
      const { experiment_id: full } = await space.experiment();
      await fill(full, 1, 10_000, `'{"s": 1}'`);
      expect((await space.finalize(full)).summary).toMatchObject({
        scores: { s: { mean: 1, count: 10_000 } },
        is_truncated: false,
        is_scorers_truncated: false,
      });
      const { experiment_id: more } = await space.experiment();
      await fill(
        more,
        1,
        10_001,
        `CASE WHEN n <= 10000 THEN '{"s": 1}' ELSE '{"s": 0, "late": 1}' END::jsonb`,
      );
      const { summary } = await space.finalize(more);
      expect(summary).toMatchObject({ scores: { s: { mean: 1, count: 10_000 } }, is_truncated: true });
      expect(summary!.scores).not.toHaveProperty('late');
      expect(await countOf(more)).toBe(10_001);
    });

    it('has the client’s metrics verbatim, from either place', async () => {
      const camel = { cases: 3, successfulCases: 2, failedCases: 1, durationMs: 5.5 };
      const snake = { cases: 3, successful_cases: 2, failed_cases: 1, duration_ms: 5.5 };
      for (const [fields, metrics] of [
        [{ metrics: camel }, camel],
        [{ summary: { metrics: snake } }, snake],
        [{ summary: { metrics: camel, scores: { forged: { mean: 1, count: 1 } } } }, camel],
      ] as const) {
        const { experiment_id: id } = await space.experiment();
        const { summary } = await space.finalize(id, fields);
        expect(summary).toEqual({ ...EMPTY_SUMMARY, metrics });
        expect(Object.keys(summary!.metrics!)).toEqual(Object.keys(metrics));
      }
      const { experiment_id: id } = await space.experiment();
      await patch(id, { metrics: { cases: 1, failed_cases: 1 } });
      const { summary } = await space.finalize(id, { metrics: { cases: 2 } });
      expect(summary!.metrics).toEqual({ cases: 2, failed_cases: 1 });
    });

    it('has at most 16 KiB of metrics after all patches', async () => {
      const { experiment_id: id } = await space.experiment();
      expect((await patch(id, { metrics: { a: 'x'.repeat(9_000) } })).status).toBe(200);
      const grown = await patch(id, { metrics: { b: 'x'.repeat(9_000) } });
      expect(outcome(grown)).toEqual([400, 'invalid_request']);
      const { summary } = await space.finalize(id, { metrics: { a: null, b: 1 } });
      expect(summary!.metrics).toEqual({ b: 1 });
    });

    it('is computed for a failed experiment too, and its error is stored', async () => {
      const { experiment_id: id } = await space.experiment();
      await space.result(id, { scores: { s: 0.5 } });
      const error = { kind: 'timeout', at: { z: 1, a: null } };
      const body = await space.finalize(id, { experiment_status: 'failed', error, description: 'broke off' });
      expect(body).toMatchObject({ experiment_status: 'failed', error, description: 'broke off' });
      expect(body.summary!.scores).toEqual({ s: { mean: 0.5, count: 1 } });
      expect((await read(id)).error).toEqual(error);
    });
  });

  describe('the dataset snapshot', () => {
    /** Returns the SHA-256 of the RFC 8785 form of a snapshot's records, which have only ASCII names, texts and integers. */
    const digestOf = (records: SnapshotRecord[]): string => {
      const items = records.map(
        (one) => `{"dataset_record_id":"${one.dataset_record_id}","version":${one.version}}`,
      );
      return createHash('sha256')
        .update(`[${items.join(',')}]`)
        .digest('hex');
    };
    const recordsOf = (experiment: Experiment) => experiment.dataset_snapshot!.records as SnapshotRecord[];

    it('has the records as of the creation of the experiment', async () => {
      const { dataset_id } = await space.dataset();
      const at = (id: string) => `/eval/v1/datasets/${dataset_id}/records/${id}`;
      const make = async () => (await space.record(dataset_id)).dataset_record_id;
      const [same, changedBefore, changedSince, archivedBefore, archivedSince] = [
        await make(),
        await make(),
        await make(),
        await make(),
        await make(),
      ];
      await space.editor.patch(at(changedBefore), { input: 2 });
      await space.archive(at(archivedBefore));
      const { experiment_id: id } = await space.experiment({ dataset_id });
      await space.editor.patch(at(changedBefore), { input: 3 });
      await space.editor.patch(at(changedSince), { input: 2 });
      await space.editor.patch(at(changedSince), { input: 3 });
      await space.editor.patch(at(archivedSince), { input: 2 });
      await space.archive(at(archivedSince));
      await make();
      const final = await space.finalize(id);
      const records = [
        { dataset_record_id: same, version: 1 },
        { dataset_record_id: changedBefore, version: 2 },
        { dataset_record_id: changedSince, version: 1 },
        { dataset_record_id: archivedSince, version: 1 },
      ];
      expect(final.dataset_snapshot).toEqual({
        dataset_id,
        source: 'records',
        dataset_version: null,
        record_count: 4,
        sha256: digestOf(records),
        records,
      });
      expect(await read(id)).toEqual(final);
      const [listed] = await space.list<Experiment>(EXPERIMENTS);
      const { records: _left, ...head } = final.dataset_snapshot!;
      expect({ ...final, ...listed }).toEqual({ ...final, dataset_snapshot: head });
      const { experiment_id: later } = await space.experiment({ dataset_id });
      const next = await space.finalize(later);
      expect(recordsOf(next).map((one) => one.version)).toEqual([1, 3, 3, 1]);
      expect(next.dataset_snapshot!.sha256).not.toBe(final.dataset_snapshot!.sha256);
    });

    it('omits records that were archived then, even if they were restored later', async () => {
      const { dataset_id } = await space.dataset();
      const made = (await space.record(dataset_id)).dataset_record_id;
      const path = `/eval/v1/datasets/${dataset_id}/records/${made}`;
      const begin = async () => (await space.experiment({ dataset_id })).experiment_id;
      const experiments = [await begin()];
      for (const step of ['archive', 'restore', 'archive', 'restore']) {
        expect((await space.evaluator.post(`${path}/${step}`)).status).toBe(200);
        experiments.push(await begin());
      }
      const counts: number[] = [];
      for (const id of experiments) counts.push((await space.finalize(id)).dataset_snapshot!.record_count);
      expect(counts).toEqual([1, 0, 1, 0, 1]);
      expect((await space.viewer.get<Dataset>(`/eval/v1/datasets/${dataset_id}`)).body.record_count).toBe(1);
    });

    it('exists for an empty or archived dataset, and is null without a dataset', async () => {
      const { dataset_id } = await space.dataset();
      const { experiment_id: id } = await space.experiment({ dataset_id });
      await space.archive(`/eval/v1/datasets/${dataset_id}`);
      const { dataset_snapshot } = await space.finalize(id);
      expect(dataset_snapshot).toMatchObject({ record_count: 0, records: [], sha256: digestOf([]) });
      expect((await space.finalize((await space.experiment()).experiment_id)).dataset_snapshot).toBeNull();
    });

    it('has all of a concurrent change or nothing of it', async () => {
      const { dataset_id } = await space.dataset();
      const path = `/eval/v1/datasets/${dataset_id}/records/bulk`;
      const write = (input: number) =>
        space.post<BulkResponse>(path, {
          items: ['a', 'b', 'c'].map((external_id) => ({ input, external_id })),
          on_conflict: 'update',
        });
      await write(0);
      const began: Experiment[] = [];
      for (let round = 1; round <= 8; round++) {
        const made = [space.experiment({ dataset_id }), space.experiment({ dataset_id })];
        const [, ...experiments] = await Promise.all([write(round), ...made]);
        began.push(...experiments);
      }
      for (const { experiment_id } of began) {
        const versions = recordsOf(await space.finalize(experiment_id)).map((one) => one.version);
        expect(versions).toHaveLength(3);
        expect(new Set(versions).size).toBe(1);
      }
    });
  });

  describe('the finalized experiment', () => {
    it.each(['completed', 'failed'])('rejects every write (%s)', async (status) => {
      const { dataset_id } = await space.dataset();
      const { experiment_id: id } = await space.experiment({ dataset_id });
      const record = await space.record(dataset_id);
      const final = await space.finalize(id, { experiment_status: status });
      const result = { case_id: 'late', dataset_record_id: record.dataset_record_id };
      const patches: Fields[] = [
        ...[
          {},
          { experiment_status: status },
          { experiment_status: 'running' },
          { experiment_status: 'other' },
        ],
        ...[{ name: 'x' }, { description: null }, { config: {} }, { tags: [] }, { metadata: {} }],
        ...[{ metrics: { cases: 1 } }, { summary: { metrics: {} } }, { error: 'x' }, { context_manifest: 1 }],
        ...[{ subject_kind: 'agent', subject_id: 'x' }, { workspace_id: 'wsp_x' }, { dataset_id: 'ds_x' }],
      ];
      const answers: Answer<unknown>[] = [
        ...(await Promise.all(patches.map((fields) => patch(id, fields)))),
        await space.post(`${EXPERIMENTS}/${id}/results`, result),
        await space.post(`${EXPERIMENTS}/${id}/results/bulk`, { items: [result] }),
      ];
      for (const answer of answers) expect(outcome(answer)).toEqual([409, 'conflict']);
      expect(await read(id)).toEqual(final);
      expect(await countOf(id)).toBe(0);
    });

    it('can be archived', async () => {
      const { experiment_id: id } = await space.experiment();
      const final = await space.finalize(id);
      const archived = await space.archive<Experiment>(`${EXPERIMENTS}/${id}`);
      expect(archived).toEqual({
        ...final,
        archived_at: archived.updated_at,
        updated_at: expect.stringMatching(TIME) as string,
      });
    });

    it('replays responses for the same Idempotency-Key', async () => {
      const { experiment_id: id } = await space.experiment();
      const add = () =>
        space.post<Result>(`${EXPERIMENTS}/${id}/results`, { case_id: 'a' }, { 'idempotency-key': 'add' });
      const end = (key: string) => patch(id, { experiment_status: 'completed' }, { 'idempotency-key': key });
      const added = await add();
      const first = await end('end');
      const again = await end('end');
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
      expect([again.body, again.headers.get('etag')]).toEqual([first.body, first.headers.get('etag')]);
      expect(outcome(await end('another'))).toEqual([409, 'conflict']);
      const readded = await add();
      expect([readded.status, readded.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
      expect(readded.body).toEqual(added.body);
    });

    it('is finalized only once by concurrent clients', async () => {
      const { experiment_id: id } = await space.experiment();
      const ends = ['completed', 'failed', 'completed', 'failed'].map((status) =>
        patch(id, { experiment_status: status }),
      );
      const answers = await Promise.all(ends);
      expect(statusesOf(answers)).toEqual([200, 409, 409, 409]);
      const won = answers.find((one) => one.status === 200)!;
      expect(await read(id)).toEqual(won.body);
    });

    it('is not finalized if the change is rejected', async () => {
      const before = await space.experiment();
      const id = before.experiment_id;
      const refused: [Fields, Record<string, string>, number][] = [
        [{ baseline_experiment_id: 'exp_x' }, {}, 404],
        [{ name: '' }, {}, 400],
        [{ subject_id: 'x' }, {}, 400],
        [{ dataset_id: 'ds_x' }, {}, 422],
        [{}, { 'if-match': '"9"' }, 412],
      ];
      for (const [fields, headers, status] of refused) {
        const answer = await patch(id, { experiment_status: 'completed', ...fields }, headers);
        expect([fields, answer.status]).toEqual([fields, status]);
      }
      expect(await read(id)).toEqual(before);
      expect((await space.result(id)).experiment_id).toBe(id);
    });
  });
});
