import { committedDocument, sharedApp } from '#testing';
import { bodyOperations, type Document, GeneratedBodies } from './generated-bodies.harness';

const OPERATIONS = bodyOperations(committedDocument<Document>());

describe('operations of evaluation with a body', () => {
  const app = sharedApp();
  let bodies: GeneratedBodies;

  beforeAll(async () => {
    bodies = await GeneratedBodies.open(app);
  });

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    'respond to generated bodies as documented, and never with 500: %s',
    (_, operation) => bodies.drive(operation),
    300_000,
  );
});
