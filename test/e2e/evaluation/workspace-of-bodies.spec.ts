import { readFileSync } from 'node:fs';
import { sharedApp } from '#testing';
import { AnnotationFixture, QUEUES } from './annotation.fixture';
import { outcome, places } from './evaluation.harness';

interface Schema {
  $ref?: string;
  properties?: Record<string, unknown>;
  oneOf?: Schema[];
}

describe('a body of a route in a workspace', () => {
  const app = sharedApp();

  it('may name the workspace in every operation, as the OpenAPI document says', () => {
    const document = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
      paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>;
      components: { schemas: Record<string, Schema> };
    };
    const operations = Object.entries(document.paths)
      .filter(([path]) => /^\/(eval|telemetry)\/v1\//.test(path))
      .flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => ({ name: `${method} ${path}`, one })));
    const bodies = operations.flatMap(({ name, one }) => {
      const schema = one.requestBody?.content['application/json']?.schema;
      const named = schema?.$ref?.split('/').at(-1);
      const body = document.components.schemas[named ?? ''];
      // a union has a schema for each alternative, and exports of telemetry have the members of another protocol
      const alternatives = body?.oneOf?.map(({ $ref = '' }) => document.components.schemas[$ref.split('/').at(-1)!]!) ?? [body];
      return alternatives.flatMap((one) => (one?.properties ? [{ name, properties: one.properties }] : []));
    });
    expect(bodies.length).toBeGreaterThan(30);
    expect(bodies.filter(({ properties }) => !('workspace_id' in properties)).map(({ name }) => name)).toEqual([]);
  }); // oxfmt-ignore

  it('is rejected if it names another workspace, and only then', async () => {
    const on = await AnnotationFixture.open(app);
    const { space } = on;
    const { experiment_id } = await space.experiment();
    const code = { scorer_kind: 'code', definition: { language: 'javascript', source: 'function score() { return 1; }' } };
    const { scorer_id } = (await space.evaluator.post('/eval/v1/scorers', { workspace_id: space.id, name: 'code', ...code })).body;
    const [traceId] = await on.traces(1);
    const queue = await on.queue(await on.scorer(), { trace_ids: [traceId] });
    const item = await on.claim(queue);
    const requests: [string, object][] = [
      [`/eval/v1/scorers/${scorer_id}/score`, { trace_ids: [traceId], mode: 'test' }],
      [`/eval/v1/scorers/${scorer_id}/batches`, { trace_ids: [traceId] }],
      [`/eval/v1/experiments/${experiment_id}/gate`, { rules: [{ scorer: 'x', min_mean: 0 }] }],
      [`/eval/v1/experiments/${experiment_id}/traces/stats/query`, {}],
      ['/telemetry/v1/traces/stats/query', {}],
      ['/eval/v1/scores/stats/query', {}],
      ['/eval/v1/datasets/search', {}],
      [`${QUEUES}/${queue.queue_id}/next`, {}],
      [`${QUEUES}/${queue.queue_id}/items/${item}/skip`, { reason: 'unclear' }],
    ];
    for (const [path, body] of requests) {
      const by = path.startsWith(QUEUES) ? on.ann.api : space.evaluator;
      const wrong = await by.post(path, { ...body, workspace_id: 'wsp_other' });
      expect([path, ...outcome(wrong), ...places(wrong)]).toEqual([path, 400, 'invalid_request', '/workspace_id']);
      const typed = await by.post(path, { ...body, workspace_id: 5 });
      expect([path, typed.status]).toEqual([path, 400]);
      const right = await by.post(path, { ...body, workspace_id: space.id });
      expect([path, right.status < 300]).toEqual([path, true]);
    }
  }); // oxfmt-ignore
});
