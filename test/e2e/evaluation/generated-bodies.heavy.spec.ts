import { committedDocument } from '#testing';
import { OpenApiSource } from '../../../src/openapi';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

/** `generated-experiments.spec.ts` tests the operations on experiments, in parallel. */
const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(
  ({ path }) => !path.startsWith('/eval/v1/experiments'),
);

describe('operations with a body, except on experiments', () => {
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open();
  });
  afterAll(() => bodies.close());

  it('are all tested', () => {
    const present = bodyOperations(bodies.app.get(OpenApiSource).document() as never);
    const committed = bodyOperations(committedDocument<Document>());
    const ids = (all: typeof present) => all.map(({ operationId }) => operationId).sort();
    expect(ids(committed)).toEqual(ids(present));
    expect(OPERATIONS.length).toBeGreaterThan(6);
  });

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    'respond to generated bodies as documented, and never with 500: %s',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
