import { type Answer, committedDocument, sharedApp } from '#testing';
import { Resources, resolved, type Schema } from './resources.fixture';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema?: Schema & { maximum?: number };
}

/** An operation that only reads, with its query parameters. */
interface Read {
  id: string;
  path: string;
  parameters: Parameter[];
}

type Paths = Record<string, Record<string, { operationId: string; parameters?: Parameter[] }>>;

/** Operations whose queries belong to other protocols: the API proxy, MCP, OAuth and health checks. */
const FOREIGN = /^\/(api\/|mcp$|\.well-known|health)/;

const READS: Read[] = Object.entries(committedDocument<{ paths: Paths }>().paths).flatMap(([path, { get }]) =>
  get && !FOREIGN.test(path)
    ? [
        {
          id: get.operationId,
          path,
          parameters: (get.parameters ?? []).filter((one) => one.in === 'query'),
        },
      ]
    : [],
);

const parameterOf = ({ parameters }: Read, name: string): Parameter | undefined =>
  parameters.find((one) => one.name === name);
const schemaOf = (parameter: Parameter): NonNullable<Parameter['schema']> => {
  const schema = resolved(parameter.schema ?? {});
  return (schema.type === 'array' ? resolved(schema.items ?? {}) : schema) as never;
};
const LISTS = READS.filter((one) => parameterOf(one, 'limit'));
const ENUMERATED = READS.filter(({ parameters }) => parameters.some((one) => schemaOf(one).enum));

/** Returns the query with the required parameters of an operation. */
const withRequired = ({ parameters }: Read, query: string): string =>
  [query, ...parameters.filter((one) => one.required).map(({ name }) => `${name}=unknown`)].join('&');

const named = (reads: readonly Read[]) => reads.map((one) => [one.id, one] as const);

/** Faults of a query are rejected before anything is read, so most resources need not exist. */
describe('every GET operation of openapi.json', () => {
  const app = sharedApp();
  let resources: Resources;

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  const read = (operation: Read, query: string): Promise<Answer> =>
    resources
      .callerOf(operation)
      .get(`${resources.pathOf(operation, 'unknown')}?${withRequired(operation, query)}`);

  const expectFault = async (operation: Read, query: string, parameter: string, status = 400) => {
    const answer = await read(operation, query);
    const { code, errors = [] } = answer.body as { code: string; errors?: { parameter?: string }[] };
    expect({ query, status: answer.status, code, parameters: errors.map((one) => one.parameter) }).toEqual({
      query,
      status,
      code: status === 400 ? 'invalid_query' : 'validation_failed',
      parameters: expect.arrayContaining([parameter]) as unknown,
    });
  };

  it('is covered by these tests', () => {
    expect(READS.length).toBeGreaterThan(100);
    expect(LISTS.length).toBeGreaterThan(50);
    expect(ENUMERATED.length).toBeGreaterThan(50);
  });

  it.each(named(READS))('rejects an unknown parameter: %s', async (_, operation) => {
    await expectFault(operation, 'unheard_of=1', 'unheard_of');
  });

  it.each(named(LISTS))('has pages of a limited size, by cursor or offset: %s', async (_, operation) => {
    const { minimum = 0, maximum = 0 } = parameterOf(operation, 'limit')!.schema!;
    const limits = [minimum - 1, maximum + 1, 'x', '1&limit=1'];
    // the specification makes these parameters of one list nullable
    if (operation.path !== '/store/v1/publisher/items') limits.push('');
    for (const limit of limits) await expectFault(operation, `limit=${limit}`, 'limit');
    if (parameterOf(operation, 'cursor')) await expectFault(operation, 'cursor=x', 'cursor');
    if (parameterOf(operation, 'offset')) {
      for (const offset of [-1, 'x']) await expectFault(operation, `offset=${offset}`, 'offset');
    }
    if (parameterOf(operation, 'since')) await expectFault(operation, 'since=yesterday', 'since');
    if (operation.path.includes('{')) return;
    if (parameterOf(operation, 'since')) {
      const { body } = await read(operation, 'since=2099-01-01T00:00:00Z&until=2099-01-02T00:00:00Z');
      expect(body.items).toEqual([]);
    }
    if (parameterOf(operation, 'total')) {
      const { body } = await read(operation, `limit=${minimum}&total=false`);
      expect((body.page as { total: number | null }).total).toBe(null);
    }
    const { status, body } = await read(operation, `limit=${minimum}`);
    const { items, servers = items } = body as { items?: unknown[]; servers?: unknown[] };
    expect([status, servers!.length <= minimum]).toEqual([200, true]);
  });

  it('have lists that need not be counted, and that filter by the time of creation', () => {
    const without = (name: string) => LISTS.filter((one) => !parameterOf(one, name)).map(({ path }) => path);
    const isOwnFormat = (path: string) => !path.startsWith('/mcp/v1/registry/v0');
    expect(without('total').filter(isOwnFormat)).toEqual([]);
    // spans, starters, rows and cases have no time of creation, and the specification lists the parameters of one list
    expect(without('since').filter(isOwnFormat)).toEqual([
      '/telemetry/v1/traces/{trace_id}/spans',
      '/eval/v1/datasets/{dataset_id}/versions/{version}/rows',
      '/eval/v1/experiments/{experiment_id}/cases',
      '/eval/v1/experiments/{experiment_id}/compare',
      '/eval/v1/experiments/{experiment_id}/traces/{trace_id}/spans',
      '/eval/v1/experiments/{experiment_id}/trials',
      '/eval/v1/scorer-starters',
      '/store/v1/publisher/items',
    ]);
  });

  it.each(named(ENUMERATED))('rejects unknown values of a parameter: %s', async (_, operation) => {
    for (const parameter of operation.parameters.filter((one) => schemaOf(one).enum)) {
      await expectFault(operation, `${parameter.name}=unheard_of`, parameter.name, 422);
    }
  });
});
