import { committedDocument } from '#testing';
import { OpenApiSource } from '../../../src/openapi';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

/** Experiments have a file of their own, which runs beside this one. */
const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(
  ({ path }) => !path.startsWith('/eval/v1/experiments'),
);

describe('operations with a body, except those of experiments', () => {
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
    '%s answers generated bodies as documented, and never with a 500',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
