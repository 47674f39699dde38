import fc from 'fast-check';
import { committedDocument } from '#testing';
import { Attacker } from './attacker';
import { newDataset, newExperiment, newScorer } from './prepared';
import { SHAPE_BYTES, SHAPES, type Target } from './shapes';
import { SuiteService } from './suite.harness';

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, unknown> } }>>;
}

/** Returns every operation with each of its media types. Path parameters without an id in `ids` get an unknown id. */
const targetsOf = (ids: Record<string, string>): Target[] =>
  Object.entries(committedDocument<Document>().paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([name, { requestBody }]) => {
      // later requests to an archived resource would be rejected too early
      const parameters = template.endsWith('/archive') ? {} : ids;
      const path = template.replace(/\{(\w+)\}/g, (_, id: string) => parameters[id] ?? '1');
      const types = requestBody ? Object.keys(requestBody.content) : [undefined];
      return types.map((type) => ({ method: name.toUpperCase(), path, ...(type && { type }) }));
    }),
  );

/** Attacks operations of the API document, each in a random shape. */
describe('generated attacks', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  it('do not affect others, and keep memory within its budget', async () => {
    const service = await suite.get();
    const attacker = new Attacker(service.attacker);
    const ids = {
      dataset_id: await newDataset(attacker),
      experiment_id: await newExperiment(attacker),
      scorer_id: await newScorer(attacker, 'function score() { return 1; }', 1_000),
    };
    const generated = fc.record({
      target: fc.constantFrom(...targetsOf(ids)),
      shape: fc.constantFrom(...Object.keys(SHAPES)),
      bytes: fc.constantFrom(...SHAPE_BYTES),
      count: fc.integer({ min: 1, max: 50 }),
    });
    const property = fc.asyncProperty(generated, async ({ target, shape, bytes, count }) => {
      await suite.expectNoHarm((attacked) =>
        attacked.observe(async () => {
          const caller = new Attacker(attacked.attacker);
          await SHAPES[shape]!(caller, target, { bytes, count });
          return caller.responses;
        }),
      );
    });
    // no shrinking: once the process has ended or grown, every smaller case fails as well
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
  }, 600_000);
});
