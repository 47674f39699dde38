import { newId } from '#platform/ids';
import {
  type ApiClient,
  ownApp,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  type TestOrganization,
} from '#testing';
import { evaluation, EVALUATION_FORMS, type SentEvaluation } from './evaluation-events.fixture';
import { answered, type ExportAnswer, JSON_MEDIA, RawExporter } from './otlp.harness';

const SCORES = '/eval/v1/scores';
const SPAN = '00f067aa0ba902b7';
const FORMS = Object.entries(EVALUATION_FORMS);
const LOGS = EVALUATION_FORMS['log records in JSON']!;
const SPANS = EVALUATION_FORMS['span events in JSON']!;

describe('evaluation events sent by OTLP', () => {
  const app = ownApp();
  let organization: TestOrganization;
  let reader: ApiClient;
  let editor: RawExporter;
  let runtime: RawExporter;
  const editorId = newId('usr');

  beforeAll(async () => {
    organization = await newOrganization(app);
    reader = await organization.as('viewer');
    const token = await organization.tokenOf(editorId, { roles: ['editor'] });
    editor = new RawExporter(app.url, token, organization.workspaceId);
    runtime = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
  });

  const send = async (form: typeof LOGS, sent: SentEvaluation[], by = editor): Promise<ExportAnswer> => {
    const answer = await by.send(form.body(sent), { media: form.media, path: form.path });
    expect(answer.status).toBe(200);
    return answer;
  };
  const scoresOf = async (traceId: string): Promise<any[]> =>
    (await reader.get(`${SCORES}?trace_id=${traceId}`)).body.items;

  it.each(FORMS)('become scores of their trace and span: %s', async (_, form) => {
    const traceId = newTraceId();
    const attributes = evaluation('relevance', 0.25, {
      'gen_ai.evaluation.score.label': 'bad',
      'gen_ai.evaluation.explanation': 'It answers another question.',
    });
    await send(form, [{ traceId, spanId: SPAN, attributes }]);
    const [score, ...others] = await scoresOf(traceId);
    expect(others).toEqual([]);
    expect(score).toMatchObject({
      trace_id: traceId,
      scorer_name: 'relevance',
      scorer_id: null,
      scorer_version: null,
      source: 'client',
      score: 0.25,
      label: 'bad',
      comment: 'It answers another question.',
      author: null,
      result_id: null,
    });
  });

  // only log records, because a repeated span is not stored again, whatever its events are
  it.each(FORMS.slice(0, 2))(
    'are duplicates without a time only if their content is equal: %s',
    async (_, form) => {
      const traceId = newTraceId();
      for (const value of [0.1, 0.9, 0.1]) {
        await send(form, [{ traceId, spanId: SPAN, time: 0n, attributes: evaluation('relevance', value) }]);
      }
      expect((await scoresOf(traceId)).map(({ score }) => score)).toEqual([0.9, 0.1]);
    },
  );

  it.each(FORMS)('have the source end_user if the key has only the role runtime: %s', async (_, form) => {
    const traceId = newTraceId();
    await send(form, [{ traceId, spanId: SPAN, attributes: evaluation('thumbs', 1) }], runtime);
    expect(await scoresOf(traceId)).toMatchObject([{ scorer_name: 'thumbs', score: 1, source: 'end_user' }]);
  });

  it('reference the scorer with their name, if there is one', async () => {
    const traceId = newTraceId();
    const definition = { checks: [{ type: 'contains', path: 'output', value: 'x' }], aggregate: 'all' };
    const { body: scorer } = await (
      await organization.as('evaluator')
    ).post('/eval/v1/scorers', {
      workspace_id: organization.workspaceId,
      name: 'known by name',
      scorer_kind: 'code',
      grain: 'trace',
      definition,
    });
    await send(LOGS, [{ traceId, attributes: evaluation('known by name', 1) }]);
    expect(await scoresOf(traceId)).toMatchObject([{ scorer_id: scorer.scorer_id, scorer_kind: 'code' }]);
  });

  it('may have only a label', async () => {
    const traceId = newTraceId();
    const attributes = { 'gen_ai.evaluation.name': 'tone', 'gen_ai.evaluation.score.label': 'rude' };
    await send(LOGS, [{ traceId, attributes }]);
    expect(await scoresOf(traceId)).toMatchObject([{ scorer_name: 'tone', score: null, label: 'rude' }]);
  });

  it.each(FORMS)(
    'count once if their export is repeated, or if they are in another export: %s',
    async (_, form) => {
      const traceId = newTraceId();
      const one = { traceId, spanId: SPAN, attributes: evaluation('twice', 1) };
      await send(form, [one]);
      await send(form, [one]);
      await send(form, [{ ...one, spanId: '00f067aa0ba902b8', attributes: evaluation('other', 0) }, one]);
      expect((await scoresOf(traceId)).map(({ scorer_name }) => scorer_name).sort()).toEqual([
        'other',
        'twice',
      ]);
    },
  );

  it('count once if two exporters send them concurrently, as log records and as span events', async () => {
    const traceId = newTraceId();
    const events = Array.from({ length: 20 }, (_, n) => ({
      traceId,
      spanId: (n + 1).toString(16).padStart(16, '0'),
      attributes: evaluation('raced', n),
    }));
    const ways = [...FORMS.map(([, form]) => form), ...FORMS.map(([, form]) => form)];
    await Promise.all(
      ways.map((form, n) =>
        send(form, n % 2 === 0 ? events : events.toReversed(), n % 2 === 0 ? editor : runtime),
      ),
    );
    expect((await scoresOf(traceId)).map(({ score }) => score).sort((a, b) => a - b)).toEqual(
      events.map((_, n) => n),
    );
  });

  it('are distinct by span, name and time, and none supersedes another', async () => {
    const traceId = newTraceId();
    const one = { traceId, spanId: SPAN, attributes: evaluation('apart', 1) };
    await send(LOGS, [
      one,
      { ...one, spanId: undefined },
      { ...one, time: 1_795_132_800_000_000_001n },
      { ...one, attributes: evaluation('apart too', 1) },
    ]);
    expect(await scoresOf(traceId)).toHaveLength(4);
  });

  it.each(FORMS)('have their value if it is a number as text: %s', async (_, form) => {
    const traceId = newTraceId();
    const texts = ['0.92', ' 1 ', '-1e-3', '.5'];
    await send(
      form,
      texts.map((text, n) => ({
        traceId,
        spanId: `${n + 1}`.repeat(16),
        attributes: evaluation(`s${n}`, text),
      })),
    );
    const scores = (await scoresOf(traceId)).map(({ scorer_name, score }) => [scorer_name, score]).sort();
    expect(scores).toEqual([
      ['s0', 0.92],
      ['s1', 1],
      ['s2', -0.001],
      ['s3', 0.5],
    ]);
  });

  const faults: [string, Partial<SentEvaluation>, string][] = [
    ['without a name', { attributes: { 'gen_ai.evaluation.score.value': 1 } }, 'without gen_ai.evaluation.name'],
    ['with an empty name', { attributes: evaluation('', 1) }, 'without gen_ai.evaluation.name'],
    ['with a name of 256 characters', { attributes: evaluation('n'.repeat(256), 1) }, 'more than 255 characters'],
    ['with NaN', { attributes: evaluation('odd', 'NaN') }, '"odd" whose gen_ai.evaluation.score.value is not a finite number'],
    ['with infinity', { attributes: evaluation('odd', '-Infinity') }, '"odd" .*not a finite number'],
    ['with a word as value', { attributes: evaluation('odd', 'high') }, '"odd" .*not a finite number'],
    ['with an empty value', { attributes: evaluation('odd', '') }, '"odd" .*not a finite number'],
    ['with a number beyond doubles', { attributes: evaluation('odd', '1e999') }, '"odd" .*not a finite number'],
    ['with an error', { attributes: evaluation('odd', 0, { 'error.type': 'timeout' }) }, '"odd" with error.type'],
    ['with neither value nor label', { attributes: { 'gen_ai.evaluation.name': 'odd' } }, '"odd" without gen_ai.evaluation.score.value'],
  ]; // oxfmt-ignore
  it.each(faults)('%s are stored, but not as scores, and the response says so', async (_, fault, reason) => {
    for (const [name, form] of FORMS) {
      const traceId = newTraceId();
      const good = { traceId, spanId: '00f067aa0ba902b8', attributes: evaluation('good', 1) };
      const bad = { ...good, spanId: SPAN, ...fault } as SentEvaluation;
      const answer = await send(form, [bad, good]);
      const success = name.endsWith('JSON')
        ? answered.json(answer).partialSuccess
        : answered.partialSuccess(answer);
      expect(success.errorMessage).toMatch(
        new RegExp(`1 evaluation event .*${reason.replace(/\.(?!\*)/g, '\\.')}`),
      );
      expect(Number(success.rejectedSpans ?? success.rejectedLogRecords ?? 0)).toBe(0);
      expect((await scoresOf(traceId)).map(({ scorer_name }) => scorer_name)).toEqual(['good']);
      const path =
        form === LOGS || name.startsWith('log')
          ? `/telemetry/v1/logs?trace_id=${traceId}`
          : `/telemetry/v1/traces/${traceId}/spans`;
      const stored: any[] = (await reader.get(path)).body.items;
      expect(stored).toHaveLength(2);
    }
  });

  it('stay current if a client records a score with the same name', async () => {
    const traceId = newTraceId();
    const sent = ['1', '2', '3'].map((span) => ({ traceId, spanId: span.repeat(16), attributes: evaluation('twice', 1) }));
    await send(LOGS, sent);
    const spans = jsonExport([newSpan({ traceId })]);
    expect((await (await organization.as('editor')).post('/telemetry/v1/traces', spans)).status).toBe(200);
    const exporter = app.api(await organization.tokenOf(editorId, { roles: ['evaluator'] })).in(organization.workspaceId);
    const body = { workspace_id: organization.workspaceId, scorer_name: 'twice', trace_id: traceId, score: 0 };
    expect((await exporter.post(SCORES, body)).body).toMatchObject({ created_by: editorId, supersedes_score_id: null });
    expect((await scoresOf(traceId)).map((one) => one.score)).toEqual([0, 1, 1, 1]);
  }); // oxfmt-ignore

  it('are stored as log records but not as scores without a trace, and the response says so', async () => {
    const name = `lost ${newTraceId()}`;
    const answer = await send(LOGS, [
      { attributes: evaluation(name, 1) },
      { traceId: '0'.repeat(32), time: 5n, attributes: evaluation(name, 1) },
    ]);
    expect(answered.json(answer).partialSuccess).toEqual({
      rejectedLogRecords: '0',
      errorMessage: expect.stringContaining(`2 evaluation events ${JSON.stringify(name)} without a trace`),
    });
    const { body } = await reader.get(`${SCORES}?scorer_name=${encodeURIComponent(name)}`);
    expect(body.items).toEqual([]);
  });

  it('cause no warning if all are scores, and do not affect other log records', async () => {
    const traceId = newTraceId();
    const answer = await send(LOGS, [{ traceId, attributes: evaluation('fine', 1) }]);
    expect(answered.json(answer)).toEqual({});
    const other = await editor.send(
      Buffer.from(
        JSON.stringify({
          resourceLogs: [{ scopeLogs: [{ logRecords: [{ traceId, eventName: 'other', attributes: [] }] }] }],
        }),
      ),
      { media: JSON_MEDIA, path: LOGS.path },
    );
    expect(answered.json(other)).toEqual({});
    expect(await scoresOf(traceId)).toHaveLength(1);
  });

  it('are rolled back with their export', async () => {
    const traceId = newTraceId();
    await app.database.query(
      `ALTER TABLE scores ADD CONSTRAINT refused CHECK (scorer_name <> 'refused') NOT VALID`,
    );
    try {
      const body = SPANS.body([{ traceId, spanId: SPAN, attributes: evaluation('refused', 1) }]);
      const { status } = await editor.send(body, { media: SPANS.media, path: SPANS.path });
      expect(status).toBe(500);
      expect((await reader.get(`/telemetry/v1/traces/${traceId}`)).status).toBe(404);
    } finally {
      await app.database.query('ALTER TABLE scores DROP CONSTRAINT refused');
    }
    await send(SPANS, [{ traceId, spanId: SPAN, attributes: evaluation('refused', 1) }]);
    expect(await scoresOf(traceId)).toHaveLength(1);
  });

  it('stay in their workspace', async () => {
    const other = await newOrganization(app);
    const traceId = newTraceId();
    await send(LOGS, [{ traceId, attributes: evaluation('mine', 1) }]);
    const { body } = await (await other.as('viewer')).get(`${SCORES}?trace_id=${traceId}`);
    expect(body.items).toEqual([]);
  });
});
