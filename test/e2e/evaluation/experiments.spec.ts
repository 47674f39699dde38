import { type Answer, type ApiClient, sharedApp } from '#testing';
import {
  EvaluationWorkspace,
  type Experiment,
  FREE_FORM_VALUES,
  outcome,
  places,
  statusesOf,
  TIME,
  UNKNOWN_IDS,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

const EXPERIMENTS = '/eval/v1/experiments';

describe('experiments', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const create = (fields: Fields) => space.post<Experiment>(EXPERIMENTS, { name: 'evaluation', ...fields });
  const patch = (id: string, fields: Fields, headers?: Record<string, string>) =>
    space.editor.patch<Experiment>(`${EXPERIMENTS}/${id}`, fields, headers);
  const matches = async (query: string): Promise<string[]> =>
    (await space.list<Experiment>(`${EXPERIMENTS}?${query}`)).map((one) => one.experiment_name);

  describe('on creation', () => {
    it('return 201 with the experiment, its Location and its ETag', async () => {
      const { dataset_id } = await space.dataset();
      const baseline = await space.experiment();
      const fields = {
        name: 'capitals',
        experiment_name: 'capitals with a new prompt',
        description: 'Shorter prompt',
        config: { model: 'm-1', nested: { z: 1, a: [null] } },
        dataset_id,
        baseline_experiment_id: baseline.experiment_id,
        subject_kind: 'agent',
        subject_id: 'agt_1',
        context_manifest: ['prompt@2', { tools: null }],
        tags: ['nightly'],
        metadata: { commit: 'abc' },
      };
      const { status, headers, body } = await create(fields);
      expect(status).toBe(201);
      expect(body).toEqual({
        experiment_id: expect.stringMatching(/^exp_[0-7][0-9a-hjkmnp-tv-z]{25}$/) as string,
        workspace_id: space.id,
        ...fields,
        dataset_version: null,
        dataset_erased: false,
        baseline_erased: false,
        dataset_filter: null,
        expected_case_count: 0,
        trials: 1,
        expected_result_count: 0,
        run_key: null,
        experiment_status: 'running',
        summary: null,
        dataset_snapshot: null,
        error: null,
        finalized_at: null,
        current_scores: {},
        late_count: 0,
        created_at: expect.stringMatching(TIME) as string,
        updated_at: body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      expect(headers.get('location')).toBe(`${EXPERIMENTS}/${body.experiment_id}`);
      expect(headers.get('etag')).toBe('"1"');
      const read = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${body.experiment_id}`);
      expect(read.headers.get('etag')).toBe('"1"');
      expect(JSON.stringify(read.body)).toBe(JSON.stringify(body));
    });

    it('need only a name, which is the default display name', async () => {
      const bare = { description: null, config: {}, tags: [], metadata: {}, context_manifest: null };
      const refers = { dataset_id: null, baseline_experiment_id: null, subject_kind: null, subject_id: null };
      const first = await create({});
      expect(first.body).toMatchObject({ ...bare, ...refers, experiment_name: 'evaluation' });
      const nulls = { ...bare, ...refers, config: null, tags: null, metadata: null, experiment_name: null };
      const second = await create({ ...nulls, resume: null });
      expect([second.status, second.body.experiment_name]).toEqual([201, 'evaluation']);
      expect(second.body.experiment_id).not.toBe(first.body.experiment_id);
    });

    it('store context_manifest and config verbatim', async () => {
      for (const value of FREE_FORM_VALUES) {
        const { body } = await create({ context_manifest: value, config: { z: value, a: value } });
        const read = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${body.experiment_id}`);
        expect(JSON.stringify([read.body.context_manifest, read.body.config])).toBe(
          JSON.stringify([value, { z: value, a: value }]),
        );
      }
    });

    it.each<[string, Fields, string]>([
      ['no name', { name: undefined }, '/name'],
      ['an empty name', { name: '' }, '/name'],
      ['a name of 256 characters', { name: 'x'.repeat(256) }, '/name'],
      ['an empty display name', { experiment_name: '' }, '/experiment_name'],
      ['a config that is not an object', { config: [1] }, '/config'],
      ['a subject_kind without a subject_id', { subject_kind: 'agent' }, '/subject_id'],
      ['a subject_id without a subject_kind', { subject_id: 'x' }, '/subject_kind'],
      ['a subject_kind with a null subject_id', { subject_kind: 'agent', subject_id: null }, '/subject_id'],
      ['an empty subject id', { subject_kind: 'agent', subject_id: '' }, '/subject_id'],
      ['a dataset that is not a string', { dataset_id: 7 }, '/dataset_id'],
      ['a dataset version without a dataset', { dataset_version: 1 }, '/dataset_version'],
      ['dataset version 0', { dataset_version: 0 }, '/dataset_version'],
      ['dataset version 1.5', { dataset_version: 1.5 }, '/dataset_version'],
      ['dataset version 2^31', { dataset_version: 2_147_483_648 }, '/dataset_version'],
      ['metadata over 16 KiB', { metadata: { x: 'x'.repeat(16 * 1024) } }, '/metadata'],
      ['a resume that is not a boolean', { resume: 'yes' }, '/resume'],
      ['another workspace than its header', { workspace_id: 'wsp_x' }, '/workspace_id'],
      ['no workspace', { workspace_id: undefined }, '/workspace_id'],
    ])('return 400 with a pointer for %s', async (_, fields, pointer) => {
      const answer = await create(fields);
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toContain(pointer);
      expect(await matches('')).toEqual([]);
    });

    it('return 422 for an unknown subject_kind', async () => {
      const answer = await create({ subject_kind: 'model', subject_id: 'x' });
      expect([...outcome(answer), ...places(answer)]).toEqual([422, 'validation_failed', '/subject_kind']);
    });

    it('return 404 for an unknown reference, and name it', async () => {
      const elsewhere = await EvaluationWorkspace.open(app);
      const foreign = (await elsewhere.dataset()).dataset_id;
      const own = (await space.dataset()).dataset_id;
      const archivedId = (await space.dataset()).dataset_id;
      await space.archive(`/eval/v1/datasets/${archivedId}`);
      const unknown: [Fields, string][] = [
        [{ dataset_id: 'ds_x' }, '/dataset_id'],
        [{ dataset_id: '' }, '/dataset_id'],
        [{ dataset_id: foreign }, '/dataset_id'],
        [{ dataset_id: own, dataset_version: 1 }, '/dataset_version'],
        [{ baseline_experiment_id: 'exp_x' }, '/baseline_experiment_id'],
        [{ baseline_experiment_id: '' }, '/baseline_experiment_id'],
        [{ baseline_experiment_id: own }, '/baseline_experiment_id'],
        [{ baseline_experiment_id: 'exp_x', dataset_id: archivedId }, '/baseline_experiment_id'],
      ];
      for (const [fields, pointer] of unknown) {
        const answer = await create(fields);
        expect([fields, ...outcome(answer), ...places(answer)]).toEqual([fields, 404, 'not_found', pointer]);
      }
      expect(outcome(await create({ dataset_id: archivedId }))).toEqual([409, 'conflict']);
      expect(await matches('')).toEqual([]);
    });

    it('return 400 for a dataset with more live records than a snapshot can have', async () => {
      const { dataset_id } = await space.dataset();
      const fill = (count: number) =>
        app.database.query('UPDATE datasets SET record_count = $1 WHERE dataset_id = $2', [
          count,
          dataset_id,
        ]);
      await fill(10_001);
      const answer = await create({ dataset_id });
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/dataset_id']);
      await fill(10_000);
      expect((await create({ dataset_id })).status).toBe(201);
    });
  });

  describe('with resume', () => {
    it('return the running experiment of the same name, display name and dataset', async () => {
      const { dataset_id } = await space.dataset();
      const key = { name: 'n', experiment_name: 'e', dataset_id };
      const first = await create({ ...key, description: 'first' });
      const others = [
        await create({ ...key, name: 'other' }),
        await create({ ...key, experiment_name: 'other' }),
        await create({ name: 'n', experiment_name: 'e' }),
      ];
      for (const other of others) expect(other.status).toBe(201);
      const resumed = await create({ ...key, description: 'ignored', resume: true });
      expect([resumed.status, resumed.headers.get('location')]).toEqual([200, null]);
      expect(resumed.headers.get('etag')).toBe('"1"');
      expect(resumed.body).toEqual(first.body);
      expect((await create({ ...key, resume: false })).status).toBe(201);
    });

    it('create a new one if the others are finalized, archived or foreign', async () => {
      const finalized = await space.experiment({ name: 'n' });
      await space.finalize(finalized.experiment_id);
      const archived = await space.experiment({ name: 'n' });
      await space.archive(`${EXPERIMENTS}/${archived.experiment_id}`);
      await (await EvaluationWorkspace.open(app)).experiment({ name: 'n' });
      const made = await create({ name: 'n', resume: true });
      expect(made.status).toBe(201);
      const again = await create({ name: 'n', resume: true });
      expect([again.status, again.body]).toEqual([200, made.body]);
      expect((await create({ name: 'n', experiment_name: 'n', resume: true })).body).toEqual(made.body);
    });

    it('return the newest of several', async () => {
      await space.experiment({ name: 'n' });
      const newest = await space.experiment({ name: 'n' });
      expect((await create({ name: 'n', resume: true })).body).toEqual(newest);
    });

    it('create one experiment for concurrent clients', async () => {
      const { dataset_id } = await space.dataset();
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => create({ name: 'at once', dataset_id, resume: true })),
      );
      expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
      expect(new Set(answers.map((one) => one.body.experiment_id)).size).toBe(1);
    });

    it('return the running one even if the dataset has outgrown a snapshot', async () => {
      const { dataset_id } = await space.dataset();
      const running = await space.experiment({ name: 'n', dataset_id });
      const grown = 'UPDATE datasets SET record_count = 10001 WHERE dataset_id = $1';
      await app.database.query(grown, [dataset_id]);
      expect((await create({ name: 'n', dataset_id, resume: true })).body).toEqual(running);
      expect((await create({ name: 'other', dataset_id, resume: true })).status).toBe(400);
    });
  });

  describe('on PATCH', () => {
    it('apply a merge patch, but replace config and context_manifest as a whole', async () => {
      const before = await space.experiment({
        description: 'old',
        config: { keep: 1 },
        context_manifest: { keep: 1 },
        metadata: { keep: 1, drop: 1 },
        tags: ['a'],
      });
      const fields = { name: 'renamed', config: { a: null }, context_manifest: { b: null }, tags: ['b'] };
      const changed = await patch(before.experiment_id, {
        ...fields,
        metadata: { drop: null },
        finalized_at: '2026-11-20T00:00:00Z',
      });
      expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2"']);
      expect(changed.body).toEqual({
        ...before,
        ...fields,
        metadata: { keep: 1 },
        updated_at: changed.body.updated_at,
      });
      const cleared = await patch(before.experiment_id, {
        ...{ description: null, config: null, context_manifest: null, tags: null, metadata: null },
      });
      const empty = { description: null, config: {}, context_manifest: null, tags: [], metadata: {} };
      expect(cleared.body).toMatchObject(empty);
      expect((await space.viewer.get(`${EXPERIMENTS}/${before.experiment_id}`)).body).toMatchObject(
        cleared.body,
      );
    });

    it('reject an array instead of an object', async () => {
      const { experiment_id } = await space.experiment();
      const fields = { summary: [{ metrics: { cases: 1 } }] };
      const answer = await space.editor.patch(`${EXPERIMENTS}/${experiment_id}`, fields);
      expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', ['/summary']]);
    });

    it('accept metrics in either place, and keep the spelling of their names', async () => {
      const { experiment_id: id } = await space.experiment();
      const snake = { cases: 3, successful_cases: 2, failed_cases: 1, duration_ms: 12.5 };
      expect((await patch(id, { metrics: snake })).body.summary).toEqual({ metrics: snake });
      const camel = { successfulCases: 2, durationMs: 1 };
      const both = await patch(id, { summary: { metrics: camel } });
      expect(both.body.summary).toEqual({ metrics: { ...snake, ...camel } });
      expect((await patch(id, { metrics: null })).body.summary).toBeNull();
      expect(places(await patch(id, { metrics: [] }))).toEqual(['/metrics']);
      expect(places(await patch(id, { summary: { metrics: 1 } }))).toEqual(['/summary/metrics']);
      expect((await patch(id, { summary: 'x' })).status).toBe(400);
    });

    it('require both members of the subject or neither', async () => {
      const { experiment_id: id } = await space.experiment();
      expect(places(await patch(id, { subject_kind: 'agent' }))).toEqual(['/subject_id']);
      expect((await patch(id, { subject_kind: 'agent', subject_id: 'a' })).status).toBe(200);
      expect((await patch(id, { subject_id: 'b' })).body.subject_id).toBe('b');
      expect(places(await patch(id, { subject_id: null }))).toEqual(['/subject_id']);
      expect((await patch(id, { subject_kind: null, subject_id: null })).body.subject_kind).toBeNull();
      expect((await patch(id, { subject_kind: 'model', subject_id: 'x' })).status).toBe(422);
    });

    it('return 422 for another workspace or dataset', async () => {
      const { dataset_id } = await space.dataset();
      const { experiment_id: id } = await space.experiment({ dataset_id });
      const same = { workspace_id: space.id, experiment_id: id, dataset_id, dataset_version: null };
      expect((await patch(id, same)).status).toBe(200);
      expect(outcome(await patch(id, { workspace_id: 'wsp_x' }))).toEqual([422, 'validation_failed']);
      for (const fields of [
        { experiment_id: 'exp_x' },
        { dataset_id: null },
        { dataset_id: 'ds_x' },
        { dataset_version: 1 },
      ]) {
        expect(outcome(await patch(id, fields))).toEqual([422, 'immutable_field']);
      }
    });

    it.each<[string, Fields, number]>([
      ['no name', { name: null }, 400],
      ['an empty display name', { experiment_name: '' }, 400],
      ['no status', { experiment_status: null }, 400],
      ['a status that is not a string', { experiment_status: 1 }, 400],
      ['an unknown status', { experiment_status: 'done' }, 422],
      ['an unknown baseline', { baseline_experiment_id: 'exp_x' }, 404],
    ])('are unchanged after a rejected PATCH with %s', async (_, fields, status) => {
      const before = await space.experiment();
      expect((await patch(before.experiment_id, { description: 'x', ...fields })).status).toBe(status);
      const { body } = await space.viewer.get(`${EXPERIMENTS}/${before.experiment_id}`);
      expect(body).toMatchObject(before);
    });
  });

  describe('on archiving', () => {
    it('become read-only, and can be archived again', async () => {
      const before = await space.experiment();
      const path = `${EXPERIMENTS}/${before.experiment_id}`;
      const result = await space.result(before.experiment_id);
      const first = await space.evaluator.post<Experiment>(`${path}/archive`);
      const at = expect.stringMatching(TIME) as string;
      expect(first.body).toEqual({ ...before, archived_at: at, updated_at: first.body.archived_at });
      const again = await space.evaluator.post(`${path}/archive`);
      expect([again.status, again.body]).toEqual([200, first.body]);
      const writes: Answer<unknown>[] = [
        await patch(before.experiment_id, { description: 'x' }),
        await patch(before.experiment_id, { experiment_status: 'completed' }),
        await space.post(`${path}/results`, { case_id: 'x' }),
        await space.post(`${path}/results/bulk`, { items: [{ case_id: 'x' }] }),
      ];
      for (const answer of writes) expect(outcome(answer)).toEqual([409, 'conflict']);
      expect(await space.list(`${path}/results`)).toEqual([result]);
    });

    it('can be archived by evaluators, changed by editors and read by viewers', async () => {
      const { experiment_id } = await space.experiment();
      const path = `${EXPERIMENTS}/${experiment_id}`;
      const refused: Answer<unknown>[] = [
        await space.editor.post(`${path}/archive`),
        await space.viewer.patch(path, { name: 'x' }),
        await space.viewer.post(EXPERIMENTS, { workspace_id: space.id, name: 'x' }),
        await (await space.organization.as('runtime')).get(path),
      ];
      for (const answer of refused) expect(outcome(answer)).toEqual([403, 'access_denied']);
    });
  });

  const operations: [string, (caller: ApiClient, id: string) => Promise<Answer<unknown>>][] = [
    ['reading', (caller, id) => caller.get(`${EXPERIMENTS}/${id}`)],
    ['changing', (caller, id) => caller.patch(`${EXPERIMENTS}/${id}`, { name: 'stolen' })],
    ['archiving', (caller, id) => caller.post(`${EXPERIMENTS}/${id}/archive`)],
  ];
  it.each(operations)('return 404 for %s an unknown or foreign experiment', async (_, attempt) => {
    const { experiment_id: id } = await space.experiment();
    const evaluator = await space.organization.as('evaluator');
    const attempts: [ApiClient, string][] = [
      [(await EvaluationWorkspace.open(app)).evaluator, id],
      [evaluator.in(await space.organization.newWorkspace()), id],
      ...[...UNKNOWN_IDS, (await space.dataset()).dataset_id].map((unknown): [ApiClient, string] => [
        evaluator,
        encodeURIComponent(decodeURIComponent(unknown)),
      ]),
    ];
    for (const [caller, other] of attempts) {
      expect([other, ...outcome(await attempt(caller, other))]).toEqual([other, 404, 'not_found']);
    }
  });

  it('are checked in order: 404, then 412, then 409, then 422', async () => {
    const { experiment_id: id } = await space.experiment();
    const wrong = { workspace_id: 'wsp_x', experiment_status: 'done', dataset_id: 'ds_x' };
    const unknown = { ...wrong, baseline_experiment_id: 'exp_x' };
    expect((await patch(id, wrong, { 'if-match': '"1"' })).status).toBe(422);
    expect((await patch(id, wrong, { 'if-match': '"7"' })).status).toBe(412);
    await space.finalize(id);
    expect((await patch(id, wrong, { 'if-match': '"2"' })).status).toBe(409);
    expect((await patch(id, wrong, { 'if-match': '"1"' })).status).toBe(412);
    expect((await patch(id, unknown, { 'if-match': '"1"' })).status).toBe(404);
    expect((await patch('exp_x', { ...wrong, name: '' })).status).toBe(400);
  });
});
