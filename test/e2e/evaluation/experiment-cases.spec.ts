import { sharedApp } from '#testing';
import type { ExperimentCaseDto } from '../../../src/evaluation/experiments/cases/experiment-case.dto';
import { uploadVersion } from './dataset-versions.fixture';
import {
  EvaluationWorkspace,
  type Experiment,
  outcome,
  type Page,
  places,
  type ProblemBody,
  type Result,
} from './evaluation.harness';

const EXPERIMENTS = '/eval/v1/experiments';
const RECORDS = '/eval/v1/datasets';

describe('the cases of an experiment', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const read = (id: string, query = '') =>
    space.viewer.get<Page<ExperimentCaseDto>>(`${EXPERIMENTS}/${id}/cases${query}`);
  const cases = async (id: string, query = ''): Promise<ExperimentCaseDto[]> => {
    const { status, body } = await read(id, query);
    expect(status).toBe(200);
    return body.items;
  };
  const idsOf = async (id: string, query = '') => (await cases(id, query)).map((one) => one.case_id);

  /** Creates a dataset with records of these external ids. */
  const datasetOf = async (
    externalIds: (string | null)[],
    fields: (index: number) => object = () => ({}),
  ) => {
    const { dataset_id } = await space.dataset();
    const records: string[] = [];
    for (const [index, external_id] of externalIds.entries()) {
      const record = { input: `q${index}`, expected: index, external_id, ...fields(index) };
      records.push((await space.record(dataset_id, record)).dataset_record_id);
    }
    return { dataset_id, records, pathOf: (id: string) => `${RECORDS}/${dataset_id}/records/${id}` };
  };

  it('are the records as they stood when it was created, and a resume evaluates these', async () => {
    const { dataset_id, records, pathOf } = await datasetOf(['a', 'b', null, 'd', 'e'], () => ({
      tags: ['t'],
      metadata: { m: 1 },
    }));
    const [a, b, c, d, e] = records as [string, string, string, string, string];
    const { experiment_id } = await space.experiment({ dataset_id, run_key: 'k', name: 'resumed' });
    await space.results(experiment_id, [
      { case_id: 'a', dataset_record_id: a, output: 1 },
      { case_id: 'other', dataset_record_id: b, error: 'down' },
    ]);
    await space.editor.patch(pathOf(a), { input: 'changed' });
    await space.editor.patch(pathOf(c), {
      input: 'changed',
      expected: 'changed',
      tags: [],
      external_id: 'c',
    });
    await space.archive(pathOf(d));
    await space.archive(pathOf(e));
    await space.record(dataset_id, { input: 'added' });
    const resumed = await space.post<Experiment>(EXPERIMENTS, {
      name: 'resumed',
      dataset_id,
      run_key: 'k',
      resume: true,
    });
    expect([resumed.status, resumed.body.experiment_id]).toEqual([200, experiment_id]);
    const [results] = [await space.list<Result>(`${EXPERIMENTS}/${experiment_id}/results?sort=created_at`)];
    const pinned = { dataset_record_version: 1, metadata: { m: 1 }, tags: ['t'] };
    expect(await cases(experiment_id)).toEqual(
      [
        {
          case_id: 'a',
          state: 'done',
          result_ids: [results[0]!.result_id],
          missing_trials: [],
          failed_trials: [],
        },
        {
          case_id: 'b',
          state: 'failed',
          result_ids: [results[1]!.result_id],
          missing_trials: [],
          failed_trials: [1],
        },
        ...[c, 'd', 'e'].map((case_id) => ({
          case_id,
          state: 'pending',
          result_ids: [],
          missing_trials: [1],
          failed_trials: [],
        })),
      ].map((one, i) => ({ ...one, ...pinned, dataset_record_id: records[i], input: `q${i}`, expected: i })),
    );
    const pending = await cases(experiment_id, '?state=pending');
    expect(pending.map((one) => one.case_id)).toEqual([c, 'd', 'e']);
    const uploaded = pending.map(({ case_id, dataset_record_id, input }) => ({
      case_id,
      dataset_record_id,
      output: input,
    }));
    expect(await space.results(experiment_id, uploaded)).toEqual([201, 201, 201]);
    expect(await idsOf(experiment_id, '?state=pending')).toEqual([]);
    expect(await idsOf(experiment_id, '?state=failed')).toEqual(['b']);
    const final = await space.finalize(experiment_id);
    expect(final.dataset_snapshot!.record_count).toBe(5);
    for (const one of await space.list<Result>(`${EXPERIMENTS}/${experiment_id}/results`)) {
      const index = records.indexOf(one.dataset_record_id!);
      expect([one.input, one.expected, one.dataset_record_version]).toEqual([`q${index}`, index, 1]);
    }
    await space.archive(`${EXPERIMENTS}/${experiment_id}`);
    expect(await idsOf(experiment_id, '?state=done')).toEqual(['a', c, 'd', 'e']);
  });

  it('are paged like every list, with the total of the state, also after a page has had results', async () => {
    const { dataset_id, records } = await datasetOf(['1', '2', '3', '4', '5', '6']);
    const { experiment_id } = await space.experiment({ dataset_id });
    const result = (case_id: string, index: number) => ({ case_id, dataset_record_id: records[index] });
    await space.results(experiment_id, [result('1', 0), result('3', 2)]);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await read(experiment_id, `?state=pending&limit=1${query}`);
      expect(body.page.total).toBe(4);
      for (const { case_id, dataset_record_id } of body.items) {
        seen.push(case_id);
        await space.result(experiment_id, { case_id, dataset_record_id });
      }
      cursor = body.page.next_cursor;
    }
    expect(seen).toEqual(['2', '4', '5', '6']);
    const page = (await read(experiment_id, '?limit=2&offset=3')).body;
    expect(page.items.map((one) => one.case_id)).toEqual(['4', '5']);
    expect(page.page).toMatchObject({ limit: 2, offset: 3, total: 6 });
    expect((await read(experiment_id, '?limit=0&state=done')).body).toMatchObject({
      items: [],
      page: { total: 6, next_cursor: null },
    });
    const next = page.page.next_cursor!;
    const faults: [string, number, string][] = [
      [`?state=done&cursor=${next}`, 400, 'invalid_query'],
      ['?state=missing', 422, 'validation_failed'],
      ['?status=done', 400, 'invalid_query'],
      ['?cursor=x', 400, 'invalid_query'],
    ];
    for (const [query, ...expected] of faults) {
      expect([query, ...outcome(await read(experiment_id, query))]).toEqual([query, ...expected]);
    }
  });

  it('are those within the filter, by the tags of the pinned versions', async () => {
    const { dataset_id, records, pathOf } = await datasetOf(['a', 'b', 'c', 'd'], (i) => ({
      tags: i < 2 ? ['x'] : ['y'],
      label: i % 2 ? 'odd' : 'even',
    }));
    const filtered = async (dataset_filter: object) =>
      (await space.experiment({ dataset_id, dataset_filter })).experiment_id;
    const ids = [records[3], records[0]];
    const experiments = [
      await filtered({ tags: ['x'] }),
      await filtered({ label: 'odd' }),
      await filtered({ dataset_record_ids: ids }),
      await filtered({ dataset_record_ids: ids, tags: ['y'] }),
    ];
    await space.editor.patch(pathOf(records[0]!), { tags: ['y'], label: 'odd' });
    const expected = [['a', 'b'], ['b', 'd'], ['a', 'd'], ['d']];
    for (const [index, id] of experiments.entries()) {
      const { body } = await read(id, '?limit=1');
      expect([body.items[0]?.case_id, body.page.total]).toEqual([
        expected[index]![0],
        expected[index]!.length,
      ]);
      expect(await idsOf(id, '?state=pending')).toEqual(expected[index]);
      const rest = await read(id, `?cursor=${body.page.next_cursor ?? ''}`);
      if (expected[index]!.length > 1)
        expect(rest.body.items.map((one) => one.case_id)).toEqual(expected[index]!.slice(1));
    }
  });

  it('are the rows of a pinned CSV version, matched by their case ids', async () => {
    const { dataset_id } = await space.dataset();
    const file = `id,q,tags\n${['one', 'two#2', 'NFC é', 'NFD e\u0301', 'five'].map((id, i) => `${id},q${i},${i < 4 ? 'x' : 'y'}`).join('\n')}\n`;
    await uploadVersion(space, dataset_id, file);
    const { experiment_id } = await space.experiment({ dataset_id, dataset_version: 1 });
    const results = await space.post<{ items: { result?: Result }[] }>(
      `${EXPERIMENTS}/${experiment_id}/results/bulk`,
      { items: [{ case_id: 'one' }, { case_id: 'NFD e\u0301', error: 'down' }, { case_id: 'NFD é' }] },
    );
    const resultIds = results.body.items.map((one) => one.result?.result_id);
    const all = await cases(experiment_id);
    expect(all.map(({ case_id, state, result_ids }) => [case_id, state, result_ids])).toEqual([
      ['one', 'done', [resultIds[0]]],
      ['two#2', 'pending', []],
      ['NFC é', 'pending', []],
      ['NFD e\u0301', 'failed', [resultIds[1]]],
      ['five', 'pending', []],
    ]);
    expect(all[1]).toMatchObject({
      dataset_record_id: null,
      dataset_record_version: null,
      input: { q: 'q1' },
      expected: null,
      tags: ['x'],
    });
    const pages: [string, string[], number][] = [
      ['?state=pending&limit=2', ['two#2', 'NFC é'], 3],
      ['?state=pending&limit=2&offset=2', ['five'], 3],
      ['?state=failed', ['NFD e\u0301'], 1],
      ['?state=done&limit=1', ['one'], 1],
      ['?limit=2&offset=1', ['two#2', 'NFC é'], 5],
    ];
    for (const [query, expected, total] of pages) {
      const { body } = await read(experiment_id, query);
      expect([query, body.items.map((one) => one.case_id), body.page.total]).toEqual([
        query,
        expected,
        total,
      ]);
    }
    const first = (await read(experiment_id, '?state=pending&limit=2')).body.page.next_cursor;
    expect(await idsOf(experiment_id, `?state=pending&limit=2&cursor=${first}`)).toEqual(['five']);
    const filtered = await space.experiment({
      dataset_id,
      dataset_version: 1,
      dataset_filter: { tags: ['x'], case_ids: ['five', 'NFC é', 'one'] },
    });
    expect((await read(filtered.experiment_id)).body).toMatchObject({
      items: [{ case_id: 'one' }, { case_id: 'NFC é' }],
      page: { total: 2, next_cursor: null },
    });
    const deleted = await space.organization.as('admin');
    const version = `${RECORDS}/${dataset_id}/versions/1`;
    expect((await deleted.delete(`${version}?force=true`)).status).toBe(204);
    expect(outcome(await read(experiment_id))).toEqual([409, 'conflict']);
  });

  it('do not include deleted records, and are 409 without a dataset and 404 for others', async () => {
    const { dataset_id, records, pathOf } = await datasetOf(['a', 'b']);
    const { experiment_id } = await space.experiment({ dataset_id });
    await space.archive(pathOf(records[0]!));
    const admin = await space.organization.as('admin');
    expect((await admin.delete(`${pathOf(records[0]!)}?force=true`)).status).toBe(204);
    expect((await read(experiment_id)).body).toMatchObject({ items: [{ case_id: 'b' }], page: { total: 1 } });
    const bare = await space.experiment();
    expect(outcome(await read(bare.experiment_id))).toEqual([409, 'conflict']);
    expect(outcome(await read('exp_00000000000000000000000000'))).toEqual([404, 'not_found']);
    const sibling = await space.sibling();
    expect(outcome(await sibling.get(`${EXPERIMENTS}/${experiment_id}/cases`))).toEqual([404, 'not_found']);
  });

  describe('that are run several times', () => {
    const create = (fields: object) => space.post<Experiment>(EXPERIMENTS, { name: 'trials', ...fields });

    it('have the results `<case>#<n>`, and are complete with all of them', async () => {
      const { dataset_id, records, pathOf } = await datasetOf(['a', null, 'é']);
      const { experiment_id, ...made } = await space.experiment({ dataset_id, trials: 3 });
      expect([made.trials, made.expected_case_count, made.expected_result_count]).toEqual([3, 3, 9]);
      await space.editor.patch(pathOf(records[0]!), { external_id: 'renamed' });
      const [a, b, c] = records;
      const trial = (case_id: string, dataset_record_id = a, fields: object = {}) => ({
        case_id,
        dataset_record_id,
        ...fields,
      });
      const refused = ['a', 'a#0', 'a#4', 'a#01', 'a#1.0', 'renamed#1', 'a#', '#1', 'a #1', `${b}#1`];
      const answer = await space.post<{ items: { error?: ProblemBody }[] }>(
        `${EXPERIMENTS}/${experiment_id}/results/bulk`,
        { items: [...refused.map((id) => trial(id)), trial('e\u0301#1', c)] },
      );
      for (const { error } of answer.body.items) {
        expect([error?.status, error?.errors?.[0]?.pointer]).toEqual([
          400,
          expect.stringMatching(/case_id$/),
        ]);
      }
      expect(answer.body.items[0]!.error!.errors![0]!.detail).toContain('"a#1"');
      const ids = ['a#1', 'a#2', 'a#3', `${b}#2`];
      expect(
        await space.results(experiment_id, [
          ...ids.slice(0, 3).map((id, i) => trial(id, a, i === 1 ? { error: 'down' } : { scores: { s: 1 } })),
          trial(ids[3]!, b, { scores: { s: null } }),
          ...[1, 2, 3].map((n) => trial(`é#${n}`, c, { scores: { s: n === 1 ? null : 0.5 } })),
        ]),
      ).toEqual(new Array(7).fill(201));
      const states = (await cases(experiment_id)).map((one: any) => [
        one.state,
        one.result_ids.length,
        one.missing_trials,
        one.failed_trials,
      ]);
      expect(states).toEqual([
        ['failed', 3, [], [2]],
        ['pending', 1, [1, 3], []],
        ['done', 3, [], []],
      ]);
      // an error and a missing trial leave a case uncovered
      const { summary } = await space.finalize(experiment_id);
      const covered = { scored_count: 1, null_count: 0 };
      expect(summary!.coverage!.scorers).toEqual({ s: covered });
      const gate = await space.editor.post<{ coverage: unknown; checks: { reason: string }[] }>(
        `${EXPERIMENTS}/${experiment_id}/gate`,
        { rules: [{ scorer: 's', min_count: 1 }, { max_error_rate: 0.1 }] },
      );
      expect(gate.body.coverage).toMatchObject({ scorers: { s: covered } });
      expect(gate.body.checks.map((one) => one.reason)).toEqual([
        expect.any(String),
        expect.stringContaining('1 of 3 cases has a score in each trial'),
        // (1/3 + 2/3 + 0) / 3: a missing trial counts as an error
        expect.stringContaining('The error rate of 3 cases is 0.333'),
      ]);
    });

    it('pair by case with the results of an experiment without trials', async () => {
      const { dataset_id, records } = await datasetOf(['a', 'b']);
      const baseline = await space.experiment({ dataset_id });
      const candidate = await space.experiment({ dataset_id, trials: 2 });
      const result = (index: number, suffix: string, s: number) => ({
        case_id: `${'ab'[index]}${suffix}`,
        dataset_record_id: records[index],
        scores: { s },
      });
      await space.results(baseline.experiment_id, [result(0, '', 0), result(1, '', 1)]);
      await space.results(candidate.experiment_id, [
        result(0, '#1', 1),
        result(0, '#2', 0),
        result(1, '#1', 1),
        result(1, '#2', 1),
      ]);
      await space.finalize(baseline.experiment_id);
      const { body } = await space.viewer.get(
        `${EXPERIMENTS}/${candidate.experiment_id}/compare?baseline_experiment_id=${baseline.experiment_id}`,
      );
      expect(body.totals).toMatchObject({ cases: 2, cases_shared: 2 });
      expect(body.scorers[0].candidate).toMatchObject({ mean: 0.75, scored_count: 2 });
    });

    it('are named by the client without a dataset', async () => {
      const { experiment_id } = await space.experiment({ trials: 2 });
      const outcomes = await space.results(experiment_id, [
        { case_id: 'q#1', scores: { s: 1 } },
        { case_id: 'q#2', scores: { s: 0 } },
        { case_id: 'x', trial_group: 'x', scores: { s: 1 } },
        { case_id: 'y', scores: { s: 1 } },
        { case_id: 'q#3', scores: { s: 1 } },
      ]);
      expect(outcomes).toEqual([201, 201, 201, 400, 400]);
      const groups = (await space.list<Result>(`${EXPERIMENTS}/${experiment_id}/results`)).map(
        (one) => one.trial_group,
      );
      expect(groups).toEqual(['x', 'q', 'q']);
      const { summary } = await space.finalize(experiment_id);
      expect(summary!.coverage!.scorers).toEqual({ s: { scored_count: 1, null_count: 0 } });
    });

    it('reject invalid numbers, CSV versions, and case ids that cannot be extended', async () => {
      for (const trials of [0, 101, 1.5, '2', -1, true]) {
        const answer = await create({ trials });
        expect([trials, ...outcome(answer), places(answer)]).toEqual([
          trials,
          400,
          'invalid_request',
          ['/trials'],
        ]);
      }
      const { dataset_id } = await space.dataset();
      await uploadVersion(space, dataset_id, 'id,q\n1,2\n');
      const csv = await create({ dataset_id, dataset_version: 1, trials: 2 });
      expect([...outcome(csv), places(csv)]).toEqual([400, 'invalid_request', ['/trials']]);
      expect((await create({ dataset_id, dataset_version: 1, trials: 1 })).status).toBe(201);
      const externalIds: [string, number][] = [
        ['a'.repeat(251), 201],
        ['😀'.repeat(251), 201],
        ['a'.repeat(252), 400],
        ['a'.repeat(255), 400],
        ['a#1', 400],
        ['a#007', 400],
        ['#5', 400],
        ['a#', 201],
        ['a#1b', 201],
        ['a#1\n', 201],
        ['a1', 201],
      ];
      for (const [external_id, status] of externalIds) {
        const made = await datasetOf(['fits', external_id]);
        const answer = await create({ dataset_id: made.dataset_id, trials: 100 });
        expect([external_id, answer.status]).toEqual([external_id, status]);
        if (status === 201) continue;
        expect(places(answer)).toEqual(['/trials']);
        const rest = { dataset_record_ids: [made.records[0]] };
        const others = { dataset_id: made.dataset_id, trials: 100, dataset_filter: rest };
        expect((await create(others)).status).toBe(201);
      }
    });

    it('cannot be changed, neither by PATCH nor on resume', async () => {
      const run = { name: 'pinned', run_key: 'one' };
      const { experiment_id } = await space.experiment({ ...run, trials: 2 });
      const patch = (fields: object) => space.editor.patch(`${EXPERIMENTS}/${experiment_id}`, fields);
      const changed = await patch({ trials: 3 });
      expect([...outcome(changed), places(changed)]).toEqual([422, 'immutable_field', ['/trials']]);
      expect((await patch({ trials: 2 })).status).toBe(200);
      expect((await create({ ...run, trials: 2, resume: true })).status).toBe(200);
      expect((await create({ ...run, resume: true })).status).toBe(200);
      for (const trials of [1, 3, null]) {
        const answer = await create({ ...run, trials, resume: true });
        expect(outcome(answer)).toEqual([409, 'conflict']);
        expect((answer.body as unknown as ProblemBody).detail).toContain('different trials');
      }
    });
  });
});
