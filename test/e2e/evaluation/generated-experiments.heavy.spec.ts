import { committedDocument } from '#testing';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(({ path }) =>
  path.startsWith('/eval/v1/experiments'),
);

describe('operations on experiments with a body', () => {
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open();
  });
  afterAll(() => bodies.close());

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    'respond to generated bodies as documented, and never with 500: %s',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
