import { sharedApp } from '#testing';
import {
  EvaluationWorkspace,
  type Experiment,
  outcome,
  places,
  type Result,
  statusesOf,
} from './evaluation.harness';
import { ScoringFixture, script } from './scoring.fixture';

type Fields = Record<string, unknown>;

const EXPERIMENTS = '/eval/v1/experiments';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** Each test is a row of the specification's tables on evaluation, and names it. */
describe('evaluation, as it is specified:', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const post = (path: string, fields: Fields) => space.post<Fields>(path, fields);
  const experiments = (query: string) => space.list<Experiment>(`${EXPERIMENTS}?${query}`);
  const idsOf = (list: Experiment[]) => list.map((one) => one.experiment_id);

  describe('result of one case:', () => {
    it('"case_id, input, expected, metadata, tags, dataset_record_id, output, error, scores, trace_id, duration_ms"', async () => {
      const { dataset_id } = await space.dataset();
      const { dataset_record_id } = await space.record(dataset_id);
      const { experiment_id } = await space.experiment({ dataset_id });
      const fields = {
        ...{ case_id: 'c', input: { q: 1 }, expected: [2], metadata: { m: null }, tags: ['t'] },
        ...{ dataset_record_id, output: 'o', error: 'e', scores: { s: 0.5 }, trace_id: TRACE_ID },
        duration_ms: 12.5,
      };
      expect(await space.result(experiment_id, fields)).toMatchObject(fields);
    });

    it('"case_id is unique within one experiment and has at most 255 characters"', async () => {
      const [one, other] = [await space.experiment(), await space.experiment()];
      const case_id = 'c'.repeat(255);
      const add = (experiment: Experiment, id: string) =>
        post(`${EXPERIMENTS}/${experiment.experiment_id}/results`, { case_id: id });
      expect((await add(one, case_id)).status).toBe(201);
      expect(outcome(await add(one, case_id))).toEqual([409, 'conflict']);
      expect((await add(other, case_id)).status).toBe(201);
      expect(outcome(await add(one, `${case_id}c`))).toEqual([400, 'invalid_request']);
    });

    it('"trace_id is 32 lowercase hexadecimal characters and not all zeros"', async () => {
      const { experiment_id } = await space.experiment();
      const wrong = [
        TRACE_ID.toUpperCase(),
        TRACE_ID.slice(1),
        `${TRACE_ID}0`,
        '0'.repeat(32),
        'g'.repeat(32),
        1,
      ];
      for (const trace_id of wrong) {
        const answer = await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c', trace_id });
        expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', ['/trace_id']]);
      }
      expect((await space.result(experiment_id, { trace_id: TRACE_ID })).trace_id).toBe(TRACE_ID);
    });

    it('"dataset_record_id is required on a run that is backed by dataset records"', async () => {
      const { dataset_id } = await space.dataset();
      const { experiment_id } = await space.experiment({ dataset_id });
      const answer = await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c' });
      expect([answer.status, places(answer)]).toEqual([400, ['/dataset_record_id']]);
      expect((await space.result((await space.experiment()).experiment_id)).dataset_record_id).toBeNull();
    });
  });

  describe('experiment attributes:', () => {
    it('"name: stable eval name"; "experiment name: display name, defaults to the eval name"', async () => {
      expect(await space.experiment({ name: 'sums' })).toMatchObject({
        name: 'sums',
        experiment_name: 'sums',
      });
      const named = await space.experiment({ name: 'sums', experiment_name: 'second prompt' });
      expect(named).toMatchObject({ name: 'sums', experiment_name: 'second prompt' });
    });

    it('"description: free text, default none"', async () => {
      expect((await space.experiment()).description).toBeNull();
      expect((await space.experiment({ description: 'any\ntext' })).description).toBe('any\ntext');
    });

    it('"config: free-form object, default empty object, stored with the experiment, filterable as key:value"', async () => {
      expect((await space.experiment()).config).toEqual({});
      const config = { model: { name: 'm:1' }, list: [1, { a: null }] };
      const { experiment_id } = await space.experiment({ config });
      const [experiment] = await experiments('config=model.name:m:1');
      expect([experiment!.experiment_id, experiment!.config]).toEqual([experiment_id, config]);
    });

    it('"baseline_experiment_id: experiment to compare with"', async () => {
      const { experiment_id: baseline_experiment_id } = await space.experiment();
      expect(await space.experiment({ baseline_experiment_id })).toMatchObject({ baseline_experiment_id });
      const unknown = await post(EXPERIMENTS, { name: 'n', baseline_experiment_id: 'exp_x' });
      expect([...outcome(unknown), places(unknown)]).toEqual([404, 'not_found', ['/baseline_experiment_id']]);
    });

    it('"subject_kind is one of agent, harness, skill; both are set or neither (half-set gives 400)"', async () => {
      for (const subject_kind of ['agent', 'harness', 'skill']) {
        expect(await space.experiment({ subject_kind, subject_id: 's' })).toMatchObject({ subject_kind });
      }
      for (const half of [{ subject_kind: 'agent' }, { subject_id: 's' }]) {
        expect(outcome(await post(EXPERIMENTS, { name: 'n', ...half }))).toEqual([400, 'invalid_request']);
      }
      const unknown = await post(EXPERIMENTS, { name: 'n', subject_kind: 'model', subject_id: 's' });
      expect(outcome(unknown)).toEqual([422, 'validation_failed']);
    });

    it('"context_manifest: pinned description of the context that changed"', async () => {
      const context_manifest = { prompt: { sha256: 'x' }, tools: ['search', null] };
      const { experiment_id } = await space.experiment({ context_manifest });
      const { body } = await space.viewer.get(`${EXPERIMENTS}/${experiment_id}`);
      expect(body.context_manifest).toEqual(context_manifest);
    });

    it('"dataset_snapshot: present on a finalized experiment"', async () => {
      const { dataset_id } = await space.dataset();
      const { dataset_record_id } = await space.record(dataset_id);
      const running = await space.experiment({ dataset_id });
      expect(running.dataset_snapshot).toBeNull();
      const { dataset_snapshot } = await space.finalize(running.experiment_id);
      expect(dataset_snapshot).toMatchObject({ dataset_id, records: [{ dataset_record_id, version: 1 }] });
    });
  });

  describe('experiment summary:', () => {
    it('"scores: … computed by the service from stored results when the experiment finalizes; null scores are excluded from both"', async () => {
      const { experiment_id } = await space.experiment();
      await space.result(experiment_id, { scores: { s: 1, t: null } });
      await space.result(experiment_id, { scores: { s: null, t: null } });
      await space.result(experiment_id, { scores: { s: 0.5 } });
      const forged = { summary: { scores: { s: { mean: 9, count: 9 } } } };
      const { summary } = await space.finalize(experiment_id, forged);
      expect(summary!.scores).toEqual({ s: { mean: 0.75, count: 2 } });
    });

    it('"scorers: scorer name to object with scorer_id (string) and scorer_version (integer)"', async () => {
      const definition = { language: 'javascript', source: 'function score() { return 1; }' };
      const scorer = await post('/eval/v1/scorers', { name: 'exact', scorer_kind: 'code', definition });
      const { scorer_id } = scorer.body;
      const { experiment_id } = await space.experiment();
      await space.result(experiment_id, { scores: { exact: { score: 1, scorer_id, scorer_version: 1 } } });
      const { summary } = await space.finalize(experiment_id);
      expect(summary!.scorers).toEqual({ exact: { scorer_id, scorer_version: 1 } });
    });

    it.each([
      [{ cases: 2, successful_cases: 1, failed_cases: 1, duration_ms: 5 }],
      [{ cases: 2, successfulCases: 1, failedCases: 1, durationMs: 5 }],
    ])('"metrics: written by the client, snake_case or camelCase": %j', async (metrics) => {
      const { experiment_id } = await space.experiment();
      const { summary } = await space.finalize(experiment_id, { summary: { metrics } });
      expect(summary!.metrics).toEqual(metrics);
    });

    it('"Cost and token counts are not part of the summary; they are read through the experiment trace stats query"', async () => {
      const { experiment_id } = await space.experiment();
      const { summary } = await space.finalize(experiment_id);
      expect(Object.keys(summary!).sort()).toEqual([
        'coverage',
        'is_scorers_truncated',
        'is_truncated',
        'metrics',
        'scorers',
        'scores',
      ]);
      const { body } = await space.viewer.post(`${EXPERIMENTS}/${experiment_id}/traces/stats/query`);
      const reported = ['cost_usd.sum', 'input_tokens.sum', 'output_tokens.sum'];
      expect(Object.keys(body.rows[0].values)).toEqual(expect.arrayContaining(reported));
    });
  });

  describe('enumerations:', () => {
    const takes = async (values: string[], send: (value: string) => Promise<{ status: number }>) => {
      const created = await Promise.all(values.map(send));
      expect(created.map(({ status }) => status)).toEqual(values.map(() => 201));
      for (const value of ['other', values[0]!.toUpperCase(), '']) {
        const answer = await send(value);
        expect([value, answer.status]).toEqual([value, 422]);
      }
    };

    it('"record source_kind: manual, session, trace, external"', async () => {
      const { dataset_id } = await space.dataset();
      await takes(['manual', 'session', 'trace', 'external'], (source_kind) =>
        post(`/eval/v1/datasets/${dataset_id}/records`, { input: 1, source_kind }),
      );
    });

    it('"scorer scorer_kind: code, llm_judge, human"', async () => {
      const output = { type: 'boolean' };
      const definitions: Record<string, unknown> = {
        code: { language: 'javascript', source: 'function score() { return 1; }' },
        llm_judge: { prompt: 'Kind?', output },
        human: { rubric: 'Kind?', output },
      };
      await takes(['code', 'llm_judge', 'human'], (scorer_kind) =>
        post('/eval/v1/scorers', {
          name: `kind ${scorer_kind}`,
          scorer_kind,
          definition: definitions[scorer_kind] ?? definitions.code,
        }),
      );
    });

    it('"experiment experiment_status: running, completed, failed"', async () => {
      const finals = ['completed', 'failed'].map(async (experiment_status) => {
        const { experiment_id } = await space.experiment();
        return (await space.finalize(experiment_id, { experiment_status })).experiment_status;
      });
      const { experiment_status, experiment_id } = await space.experiment();
      expect([experiment_status, ...(await Promise.all(finals))]).toEqual(['running', 'completed', 'failed']);
      const unknown = await space.editor.patch(`${EXPERIMENTS}/${experiment_id}`, {
        experiment_status: 'done',
      });
      expect(outcome(unknown)).toEqual([422, 'validation_failed']);
      expect((await space.viewer.get(`${EXPERIMENTS}?experiment_status=done`)).status).toBe(422);
    });

    it('"scoring run run_status: queued, running, succeeded, failed"', async () => {
      for (const run_status of ['queued', 'running', 'succeeded', 'failed']) {
        expect((await space.viewer.get(`/eval/v1/score-runs?run_status=${run_status}`)).status).toBe(200);
      }
      const unknown = await space.viewer.get('/eval/v1/score-runs?run_status=done');
      expect(outcome(unknown)).toEqual([422, 'validation_failed']);
    });

    it('"scoring grain: trace, session"; "scoring mode: score, preview, test"', async () => {
      const on = await ScoringFixture.create(app);
      const scorer = await on.scorer(script('function score() { return 1; }'));
      const trace_ids = [await on.trace()];
      const answers = ['score', 'preview', 'test'].map((mode) => on.score(scorer, { mode, trace_ids }));
      expect(statusesOf(await Promise.all(answers))).toEqual([200, 200, 202]);
      const session = 'of a test';
      await on.trace({ sessionId: session });
      const ofSession = await on.score(scorer, { mode: 'preview', session_ids: [session], grain: 'session' });
      expect([ofSession.status, ofSession.body.grain]).toEqual([200, 'session']);
      for (const wrong of [{ mode: 'dry' }, { grain: 'span' }]) {
        expect(outcome(await on.score(scorer, { trace_ids, ...wrong }))).toEqual([422, 'validation_failed']);
      }
    });
  });

  describe('states and transitions:', () => {
    it.each(['completed', 'failed'])(
      '"Experiment: running moves to %s; terminal; the experiment is frozen"; "writing … is refused with status 409"',
      async (experiment_status) => {
        const { experiment_id } = await space.experiment();
        const path = `${EXPERIMENTS}/${experiment_id}`;
        const final = await space.finalize(experiment_id, { experiment_status });
        expect(final.experiment_status).toBe(experiment_status);
        const writes = [
          ...['running', 'completed', 'failed'].map((status) =>
            space.editor.patch(path, { experiment_status: status }),
          ),
          space.editor.patch(path, { description: 'later' }),
          post(`${path}/results`, { case_id: 'late' }),
          post(`${path}/results/bulk`, { items: [{ case_id: 'late' }] }),
        ];
        expect(statusesOf(await Promise.all(writes))).toEqual(writes.map(() => 409));
        expect((await space.viewer.get(path)).body).toMatchObject(final);
      },
    );

    it('"A run can continue an experiment that is in running (resume option)", and no other', async () => {
      const name = 'to be continued';
      const first = await space.experiment({ name });
      await space.result(first.experiment_id, { case_id: 'done' });
      const again = await post(EXPERIMENTS, { name, resume: true });
      expect([again.status, again.body.experiment_id]).toEqual([200, first.experiment_id]);
      const [done] = await space.list<Result>(`${EXPERIMENTS}/${first.experiment_id}/results`);
      expect(done!.case_id).toBe('done');
      await space.finalize(first.experiment_id);
      const next = await post(EXPERIMENTS, { name, resume: true });
      expect([next.status, next.body.experiment_id === first.experiment_id]).toEqual([201, false]);
    });

    it('"When an experiment finalizes, its summary scores are computed from the stored results"', async () => {
      const { experiment_id } = await space.experiment();
      await space.result(experiment_id, { scores: { s: true } });
      const running = await space.viewer.get<Experiment>(`${EXPERIMENTS}/${experiment_id}`);
      expect(running.body.summary).toBeNull();
      expect((await space.finalize(experiment_id)).summary!.scores).toEqual({ s: { mean: 1, count: 1 } });
    });
  });

  it('finds by each filter what "config" and "experiment_status" say, and nothing of another workspace', async () => {
    const other = await EvaluationWorkspace.open(app);
    const { experiment_id } = await other.experiment({ config: { only: 'theirs' } });
    expect(idsOf(await other.list<Experiment>(`${EXPERIMENTS}?config=only:theirs`))).toEqual([experiment_id]);
    expect(await experiments('config=only:theirs')).toEqual([]);
  });
});
