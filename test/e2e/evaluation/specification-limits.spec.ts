import { sharedApp, newSpan, newTraceId } from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';
import { EvaluationWorkspace, outcome, places } from './evaluation.harness';
import { ScoringFixture, script } from './scoring.fixture';

type Fields = Record<string, unknown>;

const EXPERIMENTS = '/eval/v1/experiments';
const DATASETS = '/eval/v1/datasets';
const SCORERS = '/eval/v1/scorers';
const CODE = {
  scorer_kind: 'code',
  definition: { language: 'javascript', source: 'function score() { return 1; }' },
};

/** Each test quotes a row of the specification's tables of the errors and limits of evaluation. */
describe('the evaluation API', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let other: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    other = await EvaluationWorkspace.open(app);
  });

  const post = (path: string, fields: Fields) => space.post<Fields>(path, fields);
  const scorer = async (fields: Fields = {}): Promise<string> => {
    const answer = await post(SCORERS, { name: `scorer ${newTraceId()}`, ...CODE, ...fields });
    return answer.body.scorer_id as string;
  };

  describe('with an invalid request', () => {
    const REFUSED = [400, 'invalid_request'];

    it('returns 400 for "bad trace_id"', async () => {
      const { experiment_id } = await space.experiment();
      const answer = await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c', trace_id: 'x' });
      expect([...outcome(answer), places(answer)]).toEqual([...REFUSED, ['/trace_id']]);
    });

    it('returns 400 for "missing dataset_record_id on a record-backed run"', async () => {
      const { dataset_id } = await space.dataset();
      const { experiment_id } = await space.experiment({ dataset_id });
      const answer = await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c' });
      expect([...outcome(answer), places(answer)]).toEqual([...REFUSED, ['/dataset_record_id']]);
      expect(await space.results(experiment_id, [{ case_id: 'c' }])).toEqual([400]);
    });

    it('returns 400 for "half-set subject pair"', async () => {
      const { experiment_id } = await space.experiment();
      expect(outcome(await post(EXPERIMENTS, { name: 'n', subject_kind: 'agent' }))).toEqual(REFUSED);
      const patched = await space.editor.patch(`${EXPERIMENTS}/${experiment_id}`, { subject_id: 's' });
      expect(outcome(patched)).toEqual(REFUSED);
    });

    it('returns 400 for "invalid scorer definition or selector"', async () => {
      const definition = { language: 'javascript', source: 'no program' };
      expect(outcome(await post(SCORERS, { name: 'n', scorer_kind: 'code', definition }))).toEqual(REFUSED);
      const path = `${SCORERS}/${await scorer()}/score`;
      for (const selector of [{}, { trace_ids: ['x'] }, { since: 'yesterday' }, { traces: [] }]) {
        expect(outcome(await space.evaluator.post(path, selector))).toEqual(REFUSED);
      }
    });
  });

  it('returns 403 for "scoring or archiving without the required role"', async () => {
    const { dataset_id } = await space.dataset();
    const { dataset_record_id } = await space.record(dataset_id);
    const { experiment_id } = await space.experiment();
    const scorerId = await scorer();
    const paths = [
      ...[`${SCORERS}/${scorerId}/score`, `${SCORERS}/${scorerId}/archive`],
      ...[`${DATASETS}/${dataset_id}/archive`, `${EXPERIMENTS}/${experiment_id}/archive`],
      `${DATASETS}/${dataset_id}/records/${dataset_record_id}/archive`,
    ];
    for (const path of paths) {
      const answer = await space.editor.post(path, { trace_ids: [newTraceId()] });
      expect([path, ...outcome(answer)]).toEqual([path, 403, 'access_denied']);
    }
  });

  it('returns 404 for "object missing, not visible to the caller, or a child requested under the wrong parent"', async () => {
    const make = async (of: EvaluationWorkspace) => {
      const { dataset_id } = await of.dataset();
      const { experiment_id } = await of.experiment();
      const { dataset_record_id } = await of.record(dataset_id);
      const { result_id } = await of.result(experiment_id);
      return { dataset_id, experiment_id, dataset_record_id, result_id };
    };
    const [own, sibling, theirs] = [await make(space), await make(space), await make(other)];
    const paths = [
      ...[`${DATASETS}/ds_x`, `${EXPERIMENTS}/exp_x`, `${SCORERS}/scr_x`],
      ...[`${DATASETS}/${theirs.dataset_id}`, `${EXPERIMENTS}/${theirs.experiment_id}`],
      `${DATASETS}/${sibling.dataset_id}/records/${own.dataset_record_id}`,
      `${EXPERIMENTS}/${sibling.experiment_id}/results/${own.result_id}`,
      `${DATASETS}/${theirs.dataset_id}/records/${theirs.dataset_record_id}`,
    ];
    for (const path of paths) {
      expect([path, ...outcome(await space.viewer.get(path))]).toEqual([path, 404, 'not_found']);
    }
    expect(
      (await space.viewer.get(`${EXPERIMENTS}/${own.experiment_id}/results/${own.result_id}`)).status,
    ).toBe(200);
  });

  describe('with a conflict', () => {
    const REFUSED = [409, 'conflict'];

    it.each(['completed', 'failed'])(
      'returns 409 for "writing to a %s experiment"',
      async (experiment_status) => {
        const { experiment_id } = await space.experiment();
        await space.finalize(experiment_id, { experiment_status });
        expect(outcome(await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c' }))).toEqual(
          REFUSED,
        );
      },
    );

    it('returns 409 for "duplicate case_id or name"', async () => {
      const { experiment_id } = await space.experiment();
      await space.result(experiment_id, { case_id: 'c' });
      expect(outcome(await post(`${EXPERIMENTS}/${experiment_id}/results`, { case_id: 'c' }))).toEqual(
        REFUSED,
      );
      const { name } = await space.dataset();
      expect(outcome(await post(DATASETS, { name }))).toEqual(REFUSED);
      await scorer({ name: 'once' });
      expect(outcome(await post(SCORERS, { name: 'once', ...CODE }))).toEqual(REFUSED);
    });

    it('returns 409 for "unknown workspace"', async () => {
      const workspace_id = 'wsp_00000000000000000000000000';
      const elsewhere = space.editor.in(workspace_id);
      expect(outcome(await elsewhere.get(DATASETS))).toEqual(REFUSED);
      expect(outcome(await elsewhere.post(DATASETS, { workspace_id, name: 'n' }))).toEqual(REFUSED);
    });
  });

  it('returns 412 for "stale If-Match on a scorer edit"', async () => {
    const id = await scorer();
    const edit = (etag: string) =>
      space.editor.patch(`${SCORERS}/${id}`, { description: etag }, { 'if-match': etag });
    expect((await edit('"1"')).status).toBe(200);
    expect(outcome(await edit('"1"'))).toEqual([412, 'precondition_failed']);
  });

  it('returns 422 for "unknown enumerated value, or moving a dataset or experiment to another workspace"', async () => {
    const { dataset_id } = await space.dataset();
    const { experiment_id } = await space.experiment();
    const workspace_id = other.id;
    const answers = [
      await post(SCORERS, { name: 'n', ...CODE, scorer_kind: 'oracle' }),
      await post(`${DATASETS}/${dataset_id}/records`, { input: 1, source_kind: 'rumour' }),
      await space.viewer.get(`${EXPERIMENTS}?subject_kind=ghost`),
      await space.editor.patch(`${DATASETS}/${dataset_id}`, { workspace_id }),
      await space.editor.patch(`${EXPERIMENTS}/${experiment_id}`, { workspace_id }),
    ];
    for (const answer of answers) expect(outcome(answer)).toEqual([422, 'validation_failed']);
  });

  describe('without a dependency', () => {
    it('returns 503 for "no judge backend configured for hosted scoring"', async () => {
      const definition = { prompt: 'Kind?', output: { type: 'boolean' } };
      const id = await scorer({ scorer_kind: 'llm_judge', definition });
      const exporter = new RawExporter(app.url, await space.organization.token('runtime'), space.id);
      const span = newSpan();
      await exporter.json([span]);
      const answer = await space.evaluator.post(`${SCORERS}/${id}/score`, { trace_ids: [span.traceId] });
      expect(outcome(answer)).toEqual([503, 'service_unavailable']);
      expect(await space.list('/eval/v1/score-runs')).toEqual([]);
    });
  });

  it('returns 207 for "bulk create; read each item\'s status_code"', async () => {
    const { experiment_id } = await space.experiment();
    const items = [{ case_id: 'a' }, { case_id: 'b', trace_id: 'x' }, { case_id: 'a' }];
    expect(await space.results(experiment_id, items)).toEqual([201, 400, 409]);
  });

  describe('at its limits', () => {
    it('allows "items per bulk create (records or results): 100"', async () => {
      const { dataset_id } = await space.dataset();
      const { experiment_id } = await space.experiment();
      const places = [
        [`${DATASETS}/${dataset_id}/records`, 'external_id'],
        [`${EXPERIMENTS}/${experiment_id}/results`, 'case_id'],
      ] as const;
      for (const [path, id] of places) {
        const many = (count: number) => Array.from({ length: count }, (_, n) => ({ [id]: `${n}`, input: n }));
        expect((await post(`${path}/bulk`, { items: many(101) })).status).toBe(400);
        expect((await post(`${path}/bulk`, { items: [] })).status).toBe(400);
        const { body } = await post(`${path}/bulk`, { items: many(100) });
        expect((body.items as Fields[]).map((item) => item.status_code)).toEqual(many(100).map(() => 201));
      }
    });

    it('allows "case_id length: up to 255 characters, unique per experiment"', async () => {
      const { experiment_id } = await space.experiment();
      const ids = ['é'.repeat(255), 'c'.repeat(256), '', 'é'.repeat(255)];
      expect(await space.results(experiment_id, ids.map((case_id) => ({ case_id })))).toEqual([201, 400, 400, 409]); // oxfmt-ignore
    });

    it('requires "trace_id on a result: 32 lowercase hex characters, not all zeros"', async () => {
      const { experiment_id } = await space.experiment();
      const traceIds = ['a'.repeat(32), 'A'.repeat(32), 'a'.repeat(31), '0'.repeat(32), `${'0'.repeat(31)}1`];
      const items = traceIds.map((trace_id, n) => ({ case_id: `${n}`, trace_id }));
      expect(await space.results(experiment_id, items)).toEqual([201, 400, 400, 400, 201]);
    });

    it('cuts "score comment taken from score metadata: 2,000 characters"', async () => {
      const { experiment_id } = await space.experiment();
      const long = 'x'.repeat(2_001);
      const members = ['comment', 'rationale', 'reasoning', 'reason'];
      const scores = Object.fromEntries(
        members.map((member) => [member, { score: 1, metadata: { [member]: long } }]),
      );
      const details = (await space.result(experiment_id, { scores })).score_details as Record<string, Fields>;
      for (const member of members) {
        expect(details[member]).toEqual({ metadata: { [member]: long }, comment: long.slice(1) });
      }
      const metadata = { reason: '🙂'.repeat(2_001) };
      const { score_details } = await space.result(experiment_id, { scores: { s: { score: 1, metadata } } });
      expect((score_details as Record<string, Fields>).s!.comment).toBe('🙂'.repeat(2_000));
    });

    it('allows "hosted scoring: 100 sessions per run; 5 in preview or test mode; default concurrency 4"', async () => {
      const on = await ScoringFixture.create(app);
      const scored = await on.scorer(script('function score() { return 1; }'));
      const experiment = await on.experiment();
      const sessions = Array.from({ length: 101 }, (_, n) => `session ${n}`);
      for (const part of [sessions.slice(0, 100), sessions.slice(100)]) {
        await on.results(
          experiment,
          part.map((session_id) => ({ session_id })),
        );
      }
      const over = async (count: number, mode?: string) => {
        const body = { session_ids: sessions.slice(0, count), grain: 'session', ...(mode && { mode }) };
        const answer = await on.score(scored, body);
        return [answer.status, answer.body.total ?? answer.body.results?.length ?? answer.body.code];
      };
      expect(await over(101)).toEqual([422, 'validation_failed']);
      expect(await over(100)).toEqual([202, 100]);
      for (const mode of ['preview', 'test']) {
        expect(await over(6, mode)).toEqual([422, 'validation_failed']);
        expect(await over(5, mode)).toEqual([200, 5]);
      }
      const { body } = await on.score(scored, { session_ids: sessions.slice(0, 1), grain: 'session' });
      expect(body.concurrency).toBe(4);
    });

    it('requires no "client wait for each trace to become queryable before a result is uploaded"', async () => {
      const { experiment_id } = await space.experiment();
      const exporter = new RawExporter(app.url, await space.organization.token('runtime'), space.id);
      for (let round = 0; round < 10; round++) {
        const span = newSpan();
        await exporter.protobuf([span]);
        const path = `${EXPERIMENTS}/${experiment_id}/traces/${span.traceId}`;
        expect((await space.viewer.get(path)).status).toBe(200);
      }
    });
  });
});
