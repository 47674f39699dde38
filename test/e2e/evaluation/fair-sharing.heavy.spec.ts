import { type ApiClient, type Answer, ownApp } from '#testing';
import { untilSpooled, upload } from './dataset-versions.fixture';
import {
  type BulkResponse,
  EvaluationWorkspace,
  outcome,
  places,
  type ProblemBody,
  statuses,
} from './evaluation.harness';
import { exportRecords, importRecords, jsonLines, MEDIA, recordsOf } from './record-transfer.fixture';
import { newTraceId, ScoringFixture } from './scoring.fixture';

const MIB = 1024 * 1024;

/** Returns a schema that takes practically forever to validate a string. Null is valid at once. */
function costly(): object {
  const $defs: Record<string, unknown> = { d60: { type: 'string' } };
  for (let i = 0; i < 60; i++) {
    $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] };
  }
  return { $defs, anyOf: [{ type: 'null' }, { $ref: '#/$defs/d0' }] };
}

describe('an organization that causes expensive work', () => {
  const app = ownApp({
    env: { BODY_LIMIT_BYTES: '10485760', DATABASE_POOL_SIZE: '12', TEST_SCORING_TIMEOUT_MS: '10000' },
  });

  const listed = async ({ viewer }: EvaluationWorkspace): Promise<number> =>
    (await viewer.get('/eval/v1/datasets')).status;

  /** Returns a function that tells whether all of these responses are still pending. */
  function pending<Body>(answers: Promise<Answer<Body>>[]): () => boolean {
    let left = answers.length;
    for (const answer of answers) void answer.finally(() => left--);
    return () => left === answers.length;
  }

  it.each([
    ['line feeds', Buffer.alloc(4 * MIB, '\n')],
    ['CR LF', Buffer.alloc(4 * MIB, '\r\n')],
    ['spaces', Buffer.alloc(4 * MIB, '    \n')],
  ])('gets 400 for an import of only %s, while others are served', async (_, file) => {
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const { dataset_id } = await attacker.dataset();
    const { dataset_id: otherId } = await other.dataset();
    const answers = Array.from({ length: 4 }, () => importRecords(attacker.editor, dataset_id, file));
    const imported = await importRecords(other.editor, otherId, jsonLines([{ input: 1 }]));
    expect([imported.status, await listed(other)]).toEqual([200, 200]);
    for (const answer of await Promise.all(answers)) {
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toEqual(['/lines/100001']);
    }
  });

  it('gets a large record unchanged in exports of both formats, while others are served', async () => {
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const { dataset_id } = await attacker.dataset({ input_schema: { type: 'array' } });
    const input = [...new Array<string>(240_000).fill(''), '𝒳', { '1': 1, '0': 0 }];
    const record = {
      input,
      expected: 'é"'.repeat(200_000),
      metadata: { a: 1 },
      tags: ['t'],
      external_id: 'large',
    };
    const created = await importRecords(attacker.editor, dataset_id, jsonLines([record, { input: [] }]));
    expect([created.status, created.body.created_count]).toEqual([200, 2]);
    for (const format of ['jsonl', 'csv'] as const) {
      const exporting = exportRecords(attacker.viewer, dataset_id, `format=${format}&external_id=large`);
      expect(await listed(other)).toBe(200);
      const text = await exporting;
      const again = importRecords(attacker.editor, dataset_id, text, 'on_conflict=update', MEDIA[format]);
      expect(await listed(other)).toBe(200);
      expect((await again).body).toMatchObject({ created_count: 0, updated_count: 0, unchanged_count: 1 });
    }
    const refused = await importRecords(
      attacker.editor,
      dataset_id,
      `{"input":[${'{},'.repeat(100_000)}1}\n{"input":"${'x'.repeat(300_000)}"}\n`,
    );
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(places(refused)).toEqual(['/lines/1', '/lines/2/input']);
  });

  it('can import blank lines between records, which are skipped', async () => {
    const space = await EvaluationWorkspace.open(app);
    const { dataset_id } = await space.dataset();
    const answer = await importRecords(
      space.editor,
      dataset_id,
      `${'\n'.repeat(1_000)}{"input":1}\r\n \r\n{"input":2}\n\n`,
    );
    expect([answer.status, answer.body.created_count]).toEqual([200, 2]);
  });

  it.each([
    ['one header and line feeds', (bytes: number) => `input\n${'\n'.repeat(bytes)}`],
    ['one header and CR LF', (bytes: number) => `input\r\n${'\r\n'.repeat(bytes / 2)}`],
    ['a byte order mark and line feeds', (bytes: number) => `\uFEFF${'\n'.repeat(bytes)}`],
    // a record of more than 10 MiB
    ['a quoted cell of line feeds', (bytes: number) => `input\n"${'\n'.repeat(4 * bytes)}"\n`],
  ])('gets 400 for a CSV file of %s, while others are served', async (_, textOf) => {
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const { dataset_id } = await attacker.dataset();
    const { dataset_id: otherId } = await other.dataset();
    const file = Buffer.from(textOf(3 * MIB));
    const answers = [
      importRecords(attacker.editor, dataset_id, file, '', 'text/csv'),
      upload(attacker.editor, dataset_id, file),
    ];
    expect((await upload(other.editor, otherId, 'a\n1\n')).status).toBe(201);
    for (const answer of await Promise.all<Answer<unknown>>(answers)) {
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
    }
  });

  it('leaves a slot to others when its imports and uploads wait for their dataset', async () => {
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const { dataset_id } = await attacker.dataset();
    const { dataset_id: otherId } = await other.dataset();
    const file = jsonLines([{ input: 1 }]);
    let answers: Promise<Answer<unknown>>[] = [];
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT FROM datasets WHERE dataset_id = $1 FOR UPDATE', [dataset_id]);
      answers = Array.from({ length: 4 }, (_, n) => [
        importRecords(attacker.editor, dataset_id, file),
        upload(attacker.editor, dataset_id, `a\n${n}\n`),
      ]).flat();
      const isWaiting = pending(answers);
      await untilSpooled(8);
      expect((await importRecords(other.editor, otherId, file)).status).toBe(200);
      expect((await upload(other.editor, otherId, 'a\n1\n')).status).toBe(201);
      expect(isWaiting()).toBe(true);
    });
    const statuses = (await Promise.all(answers)).map((answer) => answer.status);
    expect(statuses).toEqual([200, 201, 200, 201, 200, 201, 200, 201]);
  });

  it('leaves a thread to others when its test runs are endless loops', async () => {
    const runs = 6;
    const loops = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const workspaceId = await organization().then((on) => on.newWorkspace());
        return loopIn((await organization()).as('evaluator'), workspaceId);
      }),
    );
    const on = await ScoringFixture.create(app);
    const experiment = await on.experiment();
    await on.result(experiment, { output: 1, expected: 1 });
    const scorer = await on.scorer();
    const answers = Array.from({ length: runs }, (_, n) => loops[n % loops.length]!());
    const isWaiting = pending(answers);
    const tested = await on.score(scorer, { mode: 'test', experiment_id: experiment.experiment_id });
    expect([tested.status, tested.body.results[0].score]).toEqual([200, 1]);
    expect(isWaiting()).toBe(true);
    // The scripts of the first targets time out before the request does. The other targets never start.
    for (const answer of (await Promise.all(answers)) as Answer[]) {
      if (answer.status === 504) continue;
      expect(answer.status).toBe(200);
      expect(answer.body.results).not.toEqual([]);
      for (const { error } of answer.body.results) expect(error).toMatch(/timeout_ms|time limit/);
    }
  });

  it('gets 504 for a test run of endless loops if nothing is scored in time', async () => {
    const hasty = await app.another({ TEST_SCORING_TIMEOUT_MS: '2000' });
    try {
      const on = await organization();
      const loop = await loopIn(on.as('evaluator'), on.workspaceId);
      const caller = hasty.api(await on.token('evaluator')).in(on.workspaceId);
      expect(outcome(await loop(caller))).toEqual([504, 'request_timeout']);
    } finally {
      await hasty.close();
    }
  });

  let attacking: Promise<EvaluationWorkspace['organization']> | undefined;
  const organization = () =>
    (attacking ??= EvaluationWorkspace.open(app).then((space) => space.organization));

  /** Returns a test run of a scorer that loops for 4 s over five results. */
  async function loopIn(
    made: Promise<ApiClient>,
    workspace_id: string,
  ): Promise<(by?: ApiClient) => Promise<Answer<unknown>>> {
    const client = (await made).in(workspace_id);
    const { body: experiment } = await client.post('/eval/v1/experiments', { workspace_id, name: 'loops' });
    const results = `/eval/v1/experiments/${experiment.experiment_id}/results/bulk`;
    const items = Array.from({ length: 5 }, (_, n) => ({
      case_id: `${n}`,
      output: n,
      trace_id: newTraceId(),
    }));
    await client.post(results, { workspace_id, items });
    const { body: scorer } = await client.post('/eval/v1/scorers', {
      workspace_id,
      name: 'loop',
      scorer_kind: 'code',
      definition: { language: 'javascript', source: 'function score() { for (;;); }', timeout_ms: 4_000 },
    });
    const body = { mode: 'test', experiment_id: experiment.experiment_id };
    return (by = client) => by.post(`/eval/v1/scorers/${scorer.scorer_id}/score`, body);
  }

  it.each([
    ['dependentRequired', (lists: object) => lists],
    [
      'dependentRequired behind a reference',
      (lists: object) => ({ $defs: { a: lists, b: lists }, $ref: '#/$defs/a' }),
    ],
    [
      'dependencies',
      ({ dependentRequired }: { dependentRequired: object }) => ({ dependencies: dependentRequired }),
    ],
  ])('gets 400 for a schema with thousands of names in %s, while others are served', async (_, schemaOf) => {
    const names = Array.from({ length: 500 }, (_, n) => `name${n}`);
    const lists = { dependentRequired: Object.fromEntries(names.slice(0, 5).map((name) => [name, names])) };
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const input_schema = schemaOf(lists);
    const answers = [
      attacker.post<ProblemBody>('/eval/v1/datasets', { name: 'expensive', input_schema }),
      attacker.post<ProblemBody>('/eval/v1/scorers', {
        name: 'expensive',
        scorer_kind: 'code',
        definition: { checks: [{ type: 'json_schema', schema: input_schema }] },
      }),
    ];
    expect(await listed(other)).toBe(200);
    for (const answer of await Promise.all(answers)) {
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(answer.body.detail).toContain('500 names, more than the maximum of 100');
    }
  });

  it('gets 400 for records that take too long to validate, while others are served', async () => {
    const [attacker, other] = [await EvaluationWorkspace.open(app), await EvaluationWorkspace.open(app)];
    const { dataset_id } = await attacker.dataset({ input_schema: costly() });
    const { dataset_id: otherId } = await other.dataset({ input_schema: { type: 'string' } });
    const items = [{ input: 'a' }, { input: null }];
    const bulk = attacker.post<BulkResponse>(`${recordsOf(dataset_id)}/bulk`, { items });
    const imported = importRecords(attacker.editor, dataset_id, jsonLines([{ input: 'a' }]));
    const isWaiting = pending<unknown>([bulk, imported]);
    await other.record(otherId, { input: 'a' });
    const refused = await other.post<ProblemBody>(recordsOf(otherId), { input: 1 });
    expect([...outcome(refused), ...places(refused), isWaiting()]).toEqual([
      ...[400, 'invalid_request', '/input'],
      true,
    ]);
    expect(statuses(await bulk)).toEqual([400, 201]);
    expect((await bulk).body.items[0]!.error!.errors).toEqual([
      { pointer: '/items/0/input', detail: 'takes too long to validate against this schema' },
    ]);
    expect([...outcome(await imported), ...places(await imported)]).toEqual([
      ...[400, 'invalid_request'],
      '/lines/1/input',
    ]);
  });
});
