import fc from 'fast-check';
import { committedDocument, sharedApp } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import type { Document } from './generated-bodies.harness';

const RUNS = 60;

interface Parameter {
  name: string;
  in: string;
  schema?: { enum?: string[] };
}

interface List {
  path: string;
  parameters: Parameter[];
}

/** The operations of evaluation and telemetry that take parameters in their query. */
const LISTS = Object.entries(committedDocument<Document>().paths)
  .filter(([path]) => /^\/(eval|telemetry)\/v1\//.test(path))
  .flatMap(([path, { get }]): List[] => {
    const parameters = ((get as { parameters?: Parameter[] } | undefined)?.parameters ?? []).filter(
      (one) => one.in === 'query',
    );
    return parameters.length > 0 ? [{ path, parameters }] : [];
  });

const TEXT = fc.oneof(
  fc.constantFrom('1', 'true', '-created_at', 'name', 'a:b', '', '\u0000', '漢-字&|!<->:*()', '%', '0.5'),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.base64String(),
);

describe('lists with generated queries', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let objects: Record<string, string>;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    const { dataset_id } = await space.dataset();
    const { dataset_record_id } = await space.record(dataset_id);
    const { experiment_id } = await space.experiment();
    const trace_id = '0af7651916cd43dd8448eb211c80319c';
    await space.result(experiment_id, { trace_id, session_id: 's' });
    const definition = { language: 'javascript', source: 'function score() { return 1; }' };
    const scorer = { name: 's', scorer_kind: 'code', definition };
    const { scorer_id } = (await space.post<{ scorer_id: string }>('/eval/v1/scorers', scorer)).body;
    const run = await space.evaluator.post(`/eval/v1/scorers/${scorer_id}/score`, { trace_ids: [trace_id] });
    const { score_run_id = 'run_x' } = run.body as { score_run_id?: string };
    const human = { rubric: 'Kind?', output: { type: 'boolean' } };
    const person = { name: 'p', scorer_kind: 'human', definition: human };
    const { body } = await space.post<{ scorer_id: string }>('/eval/v1/scorers', person);
    const queue = await space.post<{ queue_id: string }>('/eval/v1/annotation-queues', {
      ...{ name: 'q', scorer_ids: [body.scorer_id], source: { trace_ids: [trace_id] }, scores_per_item: 1 },
    });
    objects = {
      queue_id: queue.body.queue_id,
      dataset_id,
      dataset_record_id,
      experiment_id,
      trace_id,
      session_id: 's',
      scorer_id,
      score_run_id,
      score_batch_id: 'batch_x',
      version: '1',
    };
  });

  it.each(LISTS.map((list) => [list.path, list] as const))(
    'respond as documented, and never with 500: %s',
    async (_, { path, parameters }) => {
      const filled = path.replace(/\{(\w+)\}/g, (__, name: string) => {
        const id = objects[name];
        if (id === undefined)
          throw new Error(`There is no ${name} for paths: add one to the objects of this test.`);
        return id;
      });
      const pair = fc.constantFrom(...parameters).chain(({ name, schema }) => {
        const fitting = [...(schema?.enum ?? []), objects[name] ?? 's'];
        return fc.tuple(fc.constant(name), fc.oneof(TEXT, fc.constantFrom(...fitting)));
      });
      await fc.assert(
        fc.asyncProperty(fc.array(pair, { maxLength: 3 }), async (pairs) => {
          const { status } = await space.viewer.get(`${filled}?${new URLSearchParams(pairs).toString()}`);
          expect([status, status < 500]).toEqual([status, true]);
        }),
        { numRuns: RUNS },
      );
    },
    120_000,
  );
});
