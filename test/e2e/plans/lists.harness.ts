import { type Answer, type ApiClient, newOrganization, ownApp, type TestApp } from '#testing';
import { type Work, workOf } from '../evaluation/work.harness';
import { type Ids, populate } from '../tenancy/population';
import { OTHERS } from './row-copies';
import { describeHeavyStatements, type HeavyStatement } from './heavy-statements';
import { filtersOf, listOperations, type Operation, sortsOf } from './operations';

/** Items on a page. */
const LIMIT = 20;
/** Rows that a page may read: some for each of its items. */
export const PAGE_ROWS = 10 * LIMIT + 250;
/** Rows that a statement may read for each row that it counts. */
const ROWS_PER_COUNTED = 10;
/** Rows that a statement may read for each row whose conditions it checks. */
const ROWS_PER_CHECKED = 16;

/** Additional rows that a page may read if the workspace has fewer rows than the filter matches in other workspaces. */
const NARROWED_ROWS = OTHERS;

/** Number of copies of each row in a nearly empty table. */
const FEW = 20;

/** The statistics of the tables with which PostgreSQL plans. Those of one database follow one another. */
const STATISTICS = [['of new tables'], ['of nearly empty tables', 'of all rows']] as const;

/** Copies of a row. The values are expressions over the row `seed` and the number `n` of the copy. */
export interface RowCopies {
  table: string;
  /** Condition that selects the row. */
  where: string;
  count: number;
  values: Record<string, string>;
}

/** A list, and the requests for it. */
export interface ListRequest {
  /** Path, including ids. */
  path: string;
  by?: ApiClient;
  /** Values of parameters for which an index returns the rows in the order of the list. */
  filters?: Record<string, readonly string[]>;
  /** Values of other parameters: a page may read all rows of the list. */
  searches?: Record<string, readonly string[]>;
  /** Values of such parameters that few rows match. With statistics of all rows, an index finds these rows. */
  rare?: Record<string, readonly string[]>;
  /**
   * A workspace, and a filter that many rows match, but few in the workspace. A page may read `NARROWED_ROWS` more rows.
   * Tested only with statistics of all rows: without them, PostgreSQL does not know which of the two indexes is better.
   */
  narrowed?: readonly Record<string, string>[];
  /** Parameters of every request. */
  fixed?: string;
  /** The bodies of a search. Each may read every row that matches it. */
  bodies?: readonly object[];
  /** Number of rows from which a page is computed, or which a search may read. */
  rows?: number;
  /** Sort orders, instead of those of the document. */
  sorts?: readonly string[];
  /** Whether the list is so short that a page contains all rows. */
  isShort?: boolean;
  /** Whether a page is computed from all rows. */
  isComputed?: boolean;
}

/** A request other than for a list. */
export interface OtherRequest {
  path: string;
  by?: ApiClient;
  body?: object;
  /** Rows that the request may read. */
  rows: number;
}

export interface Requests {
  lists: Record<string, ListRequest>;
  others?: Record<string, OtherRequest>;
}

/** The rows that a test adds, and its requests. */
export interface ListsSetup {
  copies: RowCopies[];
  /** Fills further tables after the copies have been inserted. */
  afterCopies?: () => Promise<unknown>;
  requests: Requests;
}

/** A workspace with one resource of each kind, another workspace of its organization, and one of another organization. */
export interface Seeds {
  app: TestApp;
  orgId: string;
  ids: Ids;
  /** The ids in another workspace of the organization. */
  sibling: Ids;
  /** The ids in another organization. */
  foreign: Ids;
  foreignOrgId: string;
  owner: ApiClient;
  platform: ApiClient;
}

async function createSeeds(app: TestApp): Promise<Seeds> {
  const org = await newOrganization(app);
  const other = await newOrganization(app);
  const owner = await org.member('owner');
  const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
  return {
    app,
    orgId: org.orgId,
    ids: await populate(owner, org.workspaceId, 'first'),
    sibling: await populate(owner, await org.newWorkspace(), 'sibling'),
    foreign: await populate(await other.member('owner'), other.workspaceId, 'foreign'),
    foreignOrgId: other.orgId,
    owner: owner.in(org.workspaceId),
    platform: app.api(await app.issuer.issueToken(claims)),
  };
}

/** Inserts copies of rows. @param from number of existing copies @param to number of copies afterwards */
async function insertCopies(
  { database }: TestApp,
  copies: readonly RowCopies[],
  from: number,
  to = Infinity,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { table, where, count, values } of copies) {
    const start = (counts.get(table) ?? 0) + 1;
    counts.set(table, start + count - 1);
    const [first, last] = [start + Math.min(from, count), start + Math.min(to, count) - 1];
    const columns = await database.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO'`,
      [table],
    );
    const names = columns.map(({ name }) => name);
    const unknown = Object.keys(values).filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`${table} has no column ${unknown.join(', ')}`);
    const expressions = names.map((name) => values[name] ?? `seed.${name}`);
    const inserted = await database.query(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${expressions.join(', ')}
       FROM (SELECT * FROM ${table} seed WHERE ${where} ORDER BY ctid LIMIT 1) seed, generate_series(${first}, ${last}) n
       RETURNING 1`,
    );
    if (inserted.length !== last - first + 1)
      throw new Error(`inserted ${inserted.length} rows into ${table}, copied where ${where}`);
  }
}

/**
 * Tests how many rows the lists below some paths read. Fails if a list of the OpenAPI document, or one of its parameters,
 * has no request.
 */
export function describeLists(
  prefixes: readonly string[],
  setUp: (seeds: Seeds) => Promise<ListsSetup> | ListsSetup,
): void {
  const operations = listOperations(...prefixes);
  describe.each(STATISTICS.map((all) => [all]))('requests with statistics', (all) => {
    const app = ownApp({ autovacuum: false });
    let requests: Requests;

    beforeAll(async () => {
      const setup = await setUp(await createSeeds(app));
      await insertCopies(app, setup.copies, 0, FEW);
      if (all[0] === 'of nearly empty tables') await app.database.query('ANALYZE');
      await insertCopies(app, setup.copies, FEW);
      await setup.afterCopies?.();
      requests = setup.requests;
    }, 120_000);

    it('cover every list and every parameter', () => {
      expect(Object.keys(requests.lists).sort()).toEqual([...operations.keys()].sort());
      for (const [name, operation] of operations) {
        const { filters, searches, bodies, fixed = '' } = requests.lists[name]!;
        const tested = [...Object.keys({ ...filters, ...searches }), ...new URLSearchParams(fixed).keys()];
        if (!bodies)
          expect([name, ...filtersOf(operation).filter((one) => !tested.includes(one))]).toEqual([name]);
      }
    });

    describe.each(all)('%s', (statistics) => {
      beforeAll(async () => {
        if (statistics === 'of all rows') await app.database.query('ANALYZE');
      }, 120_000);

      it.each([...operations.keys()])(
        'read few rows for %s',
        async (name) => {
          const heavy = await heavyPages(name, operations.get(name)!);
          if (heavy.length > 0) throw new Error(describeHeavyStatements(heavy));
        },
        120_000,
      );

      it('read few rows for everything else', async () => {
        const heavy: HeavyStatement[] = [];
        for (const [name, { path, by, body, rows }] of Object.entries(requests.others ?? {})) {
          const client = by!;
          const { works } = await measure(name, () => (body ? client.post(path, body) : client.get(path)));
          for (const work of works)
            if (work.rows > rows) heavy.push({ request: name, rows: work.rows, maxRows: rows, work });
        }
        if (heavy.length > 0) throw new Error(describeHeavyStatements(heavy));
      }, 120_000);

      async function measure(
        name: string,
        send: () => Promise<Answer>,
      ): Promise<{ works: Work[]; answer: Answer }> {
        let answer: Answer | undefined;
        const works = await workOf(app.database, async () => (answer = await send()));
        expect([name, answer?.status, answer?.status === 200 ? '' : answer?.body]).toEqual([name, 200, '']);
        return { works, answer: answer! };
      }

      /** Requests pages of a list in every order and with each filter. */
      async function heavyPages(name: string, operation: Operation): Promise<HeavyStatement[]> {
        const {
          path,
          by,
          filters = {},
          searches = {},
          rare = {},
          narrowed = [],
          fixed,
          bodies,
          isComputed,
          rows,
          sorts,
          isShort,
        } = requests.lists[name]!;
        const client = by!;
        const heavy: HeavyStatement[] = [];
        let rowCount = rows ?? 0;
        const requestPage = async (
          query: Record<string, string>,
          perMatch: number,
          body?: object,
          extraRows = 0,
        ): Promise<Answer> => {
          const parameters = `${new URLSearchParams({ limit: String(LIMIT), ...query }).toString()}${fixed ? `&${fixed}` : ''}`;
          const search = body ? { limit: LIMIT, ...query, ...body } : undefined;
          const request = `${name} ${search ? JSON.stringify(search) : parameters}`.slice(0, 150);
          const send = () => (search ? client.post(path, search) : client.get(`${path}?${parameters}`));
          const { works, answer } = await measure(request, send);
          const total = (answer.body.page.total as number | null) ?? 100_000;
          rowCount = Math.max(rowCount, total);
          for (const work of works) {
            const isCount = /^\s*SELECT count\(/.test(work.statement);
            const matchRows = perMatch > 0 ? perMatch * rowCount : isCount ? ROWS_PER_COUNTED * total : 0;
            const maxRows = PAGE_ROWS + extraRows + matchRows;
            if (work.rows > maxRows) heavy.push({ request, rows: work.rows, maxRows, work });
          }
          return answer;
        };
        const perMatch = isComputed ? ROWS_PER_COUNTED : 0;
        if (bodies) {
          for (const body of bodies) await requestPage({}, ROWS_PER_CHECKED, body);
          return heavy;
        }
        const directed = (sorts ?? []).flatMap((sort) => [sort, `-${sort}`]);
        for (const sort of [undefined, ...(sorts ? directed : sortsOf(operation))]) {
          const order: Record<string, string> = sort ? { sort } : {};
          await requestPage(order, perMatch);
          if (isShort || !operation.parameters?.some((one) => one.name === 'cursor')) continue;
          const first = await client.get(
            `${path}?${new URLSearchParams({ ...order, limit: '500' }).toString()}${fixed ? `&${fixed}` : ''}`,
          );
          const cursor = first.body.page.next_cursor as string | null;
          expect([name, sort, cursor]).toEqual([name, sort, expect.any(String)]);
          await requestPage({ ...order, cursor: cursor! }, perMatch);
        }
        if (operation.parameters?.some((one) => one.name === 'include_archived'))
          await requestPage({ include_archived: 'true' }, perMatch);
        const isTimed = operation.parameters?.some((one) => one.name === 'since') === true;
        if (isTimed && !('since' in { ...filters, ...searches })) {
          await requestPage({ since: '2020-01-01T00:00:00Z' }, ROWS_PER_CHECKED);
          await requestPage({ until: '2100-01-01T00:00:00Z' }, ROWS_PER_CHECKED);
        }
        for (const [filter, values] of Object.entries(filters))
          for (const value of values) await requestPage({ [filter]: value }, perMatch);
        for (const [filter, values] of Object.entries(searches))
          for (const value of values) await requestPage({ [filter]: value }, ROWS_PER_CHECKED);
        if (statistics === 'of all rows') {
          for (const parameters of narrowed) await requestPage(parameters, 0, undefined, NARROWED_ROWS);
          for (const [filter, values] of Object.entries(rare))
            for (const value of values) await requestPage({ [filter]: value }, 0);
        }
        return heavy;
      }
    });
  });
}
