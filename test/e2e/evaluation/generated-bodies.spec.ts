import { committedDocument } from '#testing';
import { OpenApiSource } from '../../../src/openapi';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

/** Those of experiments and what is below them have a file of their own, beside which this one can run. */
const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(
  ({ path }) => !path.startsWith('/eval/v1/experiments'),
);

describe('whatever is sent to each operation that takes a body, but those of experiments,', () => {
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open();
  });
  afterAll(() => bodies.close());

  it('is sent to all that there are', () => {
    const present = bodyOperations(bodies.app.get(OpenApiSource).document() as never);
    const committed = bodyOperations(committedDocument<Document>());
    const ids = (all: typeof present) => all.map(({ operationId }) => operationId).sort();
    expect(ids(committed)).toEqual(ids(present));
    expect(OPERATIONS.length).toBeGreaterThan(6);
  });

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    '%s: any body gets a documented answer, and never a 500',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
