import { committedDocument } from '#testing';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

const OPERATIONS = bodyOperations(committedDocument<Document>()).filter(({ path }) =>
  path.startsWith('/eval/v1/experiments'),
);

describe('whatever is sent to each operation of experiments that takes a body', () => {
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open();
  });
  afterAll(() => bodies.close());

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    '%s: any body gets a documented answer, and never a 500',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
