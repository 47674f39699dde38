import { committedDocument } from '#testing';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(({ path }) =>
  path.startsWith('/eval/v1/experiments'),
);

describe('operations of experiments with a body', () => {
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open();
  });
  afterAll(() => bodies.close());

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    '%s answers generated bodies as documented, and never with a 500',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
