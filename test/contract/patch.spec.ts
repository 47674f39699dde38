import { type Answer, sharedApp } from '#testing';
import { type DocumentedOperation, documentedOperations, Resources } from './resources.fixture';

/** Every PATCH operation except the one that the API proxy forwards. */
const PATCHES = documentedOperations().filter(
  ({ method, path }) => method === 'PATCH' && !path.startsWith('/api/'),
);

interface State {
  etag: string | null;
  resource: Record<string, unknown>;
  auditEntries: unknown[];
  versions: unknown[] | null;
}

/**
 * One rule for all resources: a PATCH that changes nothing returns 200 and writes nothing. For contrast, each resource is
 * also changed, which must change the values that the rule compares.
 */
describe('a PATCH that changes nothing', () => {
  const app = sharedApp();
  let resources: Resources;

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  /** Operations whose changes were recorded in the audit log. */
  const audited = new Set<string>();

  /** Returns everything that a write to the resource would change. */
  async function stateOf(operation: DocumentedOperation): Promise<State> {
    const path = resources.pathOf(operation);
    const caller = resources.callerOf(operation);
    const read = await caller.get(path);
    expect(read.status).toBe(200);
    const hasVersions = documentedOperations().some((one) => one.path === `${operation.path}/versions`);
    return {
      etag: read.headers.get('etag'),
      resource: read.body as State['resource'],
      auditEntries: await resources.auditEntries(),
      versions: hasVersions
        ? ((await caller.get(`${path}/versions`)).body as { items: unknown[] }).items
        : null,
    };
  }

  const patch = (operation: DocumentedOperation, body: unknown): Promise<Answer> =>
    resources.callerOf(operation).patch(resources.pathOf(operation), body);

  async function expectNothingWritten(
    operation: DocumentedOperation,
    before: State,
    body: unknown,
  ): Promise<void> {
    const answer = await patch(operation, body);
    expect({ status: answer.status, body: answer.body as unknown }).toEqual({
      status: 200,
      body: before.resource,
    });
    expect(answer.headers.get('etag')).toBe(before.etag);
    expect(await stateOf(operation)).toEqual(before);
  }

  it.each(PATCHES.map((one) => [one.id, one] as const))(
    'writes nothing with an empty body: %s',
    async (_, operation) => {
      await expectNothingWritten(operation, await stateOf(operation), {});
    },
  );

  it.each(PATCHES.map((one) => [one.id, one] as const))(
    'writes nothing with the resource as read: %s',
    async (_, operation) => {
      const before = await stateOf(operation);
      await expectNothingWritten(operation, before, before.resource);
      const documented = [...Object.keys(operation.body!.properties!), ...operation.readOnly];
      expect(documented).toEqual(expect.arrayContaining(Object.keys(before.resource)));
    },
  );

  it.each(PATCHES.map((one) => [one.id, one] as const))(
    'differs from one that changes something: %s',
    async (_, operation) => {
      const before = await stateOf(operation);
      const change = changeOf(operation, before.resource);
      const answer = await patch(operation, change);
      expect({ status: answer.status, body: answer.body as unknown }).toMatchObject({
        status: 200,
        body: change,
      });
      expect(answer.headers.get('etag')).not.toBe(before.etag);
      const after = await stateOf(operation);
      // store items have no `updated_at`
      if ('updated_at' in before.resource) {
        expect(after.resource.updated_at).not.toBe(before.resource.updated_at);
      }
      if (after.auditEntries.length > before.auditEntries.length) audited.add(operation.id);
    },
  );

  it('writes no audit entry, unlike one that changes something', () => {
    expect([...audited]).toEqual(
      expect.arrayContaining([
        'updateAgent',
        'updateDataset',
        'updateMcpServer',
        'updateScorer',
        'updateWorkspace',
      ]),
    );
  });
});

/** Text members that a PATCH can change, in order of preference. */
const TEXTS = ['description', 'display_name', 'title', 'label', 'name'];

/** Returns a change of the first text member in the body of an operation. */
function changeOf(
  { id, body }: DocumentedOperation,
  { name }: Record<string, unknown>,
): Record<string, unknown> {
  const member = TEXTS.find((one) => one in body!.properties!);
  if (member === undefined) return 'tags' in body!.properties! ? { tags: ['changed'] } : { sample_rate: 0.2 };
  return { [member]: member === 'name' ? `${String(name)} 2` : `changed by ${id}` };
}
