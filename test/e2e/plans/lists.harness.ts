import { type Answer, type ApiClient, createTestApp, newOrganization, type TestApp } from '#testing';
import { type Work, workOf } from '../evaluation/work.harness';
import { type Ids, populate } from '../tenancy/population';
import { OTHERS } from './growths';
import { describeHeavy, type Heavy } from './heavy';
import { filtersOf, listOperations, type Operation, sortsOf } from './operations';

/** Items on a page. */
const LIMIT = 20;
/** Rows that a page may go through: some for each of its items. */
export const PAGE_ROWS = 10 * LIMIT + 250;
/** Rows that a statement may go through for each row that it counts. */
const EACH = 10;
/** Rows that it may go through for each row of a list whose conditions it checks one by one. */
const EACH_CHECKED = 16;

/** Rows that a page may go through of a workspace that has fewer rows than the filter finds in the others. */
const NARROWED_ROWS = OTHERS;

/** Copies of each row in a table that is nearly empty. */
const FEW = 20;

/** What PostgreSQL knows of the tables. */
export const STATISTICS = ['of new tables', 'of when tables were nearly empty', 'of all rows'] as const;
export type Statistics = (typeof STATISTICS)[number];

/** Copies of a row: expressions over the row `seed` and a number `n`, which is different in each copy. */
export interface Growth {
  table: string;
  /** Condition that selects the row. */
  of: string;
  copies: number;
  values: Record<string, string>;
}

/** A list, as a caller asks for it. */
export interface ListRequest {
  /** Path with ids. */
  path: string;
  by?: ApiClient;
  /** Values of parameters by which an index finds the rows in the order of the list. */
  filters?: Record<string, readonly string[]>;
  /** Values of other parameters: a page may read all rows of the list. */
  searches?: Record<string, readonly string[]>;
  /** Values of these parameters that few rows meet. With statistics of all rows, an index finds them. */
  rare?: Record<string, readonly string[]>;
  /**
   * A workspace, and a filter that many rows meet, but few of the workspace. A page may read `NARROWED_ROWS` more rows, but
   * only with statistics of all rows: without them, PostgreSQL does not know which of the two indexes finds fewer rows.
   */
  narrowed?: readonly Record<string, string>[];
  /** Parameters of every request. */
  fixed?: string;
  /** Of a search: its bodies. Those under `searches` may read every row that meets them. */
  bodies?: readonly object[];
  /** The rows that a page is computed from, or that a search may read. */
  rows?: number;
  /** Sorts, instead of those of the document. */
  sorts?: readonly string[];
  /** Whether a page has all rows of the list, which are few. */
  isShort?: boolean;
  /** Whether a page is computed from all rows. */
  isComputed?: boolean;
}

/** Another request. */
export interface OtherRequest {
  path: string;
  by?: ApiClient;
  body?: object;
  /** Rows that it may go through. */
  rows: number;
}

export interface Requests {
  lists: Record<string, ListRequest>;
  others?: Record<string, OtherRequest>;
}

/** What a test adds to a workspace, and then asks for. */
export interface Grown {
  growths: Growth[];
  /** Fills further tables. */
  grown?: () => Promise<unknown>;
  requests: Requests;
}

/** A workspace with one of everything, in an organization that has another one, beside another organization. */
export interface Seeds {
  app: TestApp;
  orgId: string;
  ids: Ids;
  /** Of another workspace of the organization. */
  beside: Ids;
  /** Of another organization. */
  foreign: Ids;
  foreignOrgId: string;
  owner: ApiClient;
  platform: ApiClient;
}

/** Tables of the service in which nothing is vacuumed or analyzed while a test runs. */
async function keepStatistics({ database }: TestApp): Promise<void> {
  const tables = await database.query<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  for (const { name } of tables) await database.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
}

async function seedsIn(app: TestApp): Promise<Seeds> {
  const org = await newOrganization(app);
  const other = await newOrganization(app);
  const owner = await org.member('owner');
  const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
  return {
    app,
    orgId: org.orgId,
    ids: await populate(owner, org.workspaceId, 'first'),
    beside: await populate(owner, await org.newWorkspace(), 'beside'),
    foreign: await populate(await other.member('owner'), other.workspaceId, 'foreign'),
    foreignOrgId: other.orgId,
    owner: owner.in(org.workspaceId),
    platform: app.api(await app.issuer.issueToken(claims)),
  };
}

/** Inserts copies of rows. @param from number of copies that there are */
async function grow(
  { database }: TestApp,
  growths: readonly Growth[],
  from: number,
  to = Infinity,
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { table, of, copies, values } of growths) {
    const start = (counts.get(table) ?? 0) + 1;
    counts.set(table, start + copies - 1);
    const [first, last] = [start + Math.min(from, copies), start + Math.min(to, copies) - 1];
    const columns = await database.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER' AND is_identity = 'NO'`,
      [table],
    );
    const names = columns.map(({ name }) => name);
    const unknown = Object.keys(values).filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`${table} has no ${unknown.join(', ')}`);
    const copied = names.map((name) => values[name] ?? `seed.${name}`);
    const inserted = await database.query(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${copied.join(', ')}
       FROM (SELECT * FROM ${table} seed WHERE ${of} ORDER BY ctid LIMIT 1) seed, generate_series(${first}, ${last}) n
       RETURNING 1`,
    );
    if (inserted.length !== last - first + 1)
      throw new Error(`${inserted.length} rows of ${table} where ${of}`);
  }
}

/**
 * Describes what the lists below some paths read. Fails for a list of the OpenAPI document, or a parameter of one, that
 * has no request.
 */
export function describeLists(
  prefixes: readonly string[],
  populated: (seeds: Seeds) => Promise<Grown> | Grown,
): void {
  const operations = listOperations(...prefixes);

  describe.each(STATISTICS)('with statistics %s', (statistics) => {
    let app: TestApp;
    let requests: Requests;

    beforeAll(async () => {
      app = await createTestApp();
      await keepStatistics(app);
      const seeds = await seedsIn(app);
      const { growths, grown, requests: given } = await populated(seeds);
      await grow(app, growths, 0, FEW);
      if (statistics === STATISTICS[1]) await app.database.query('ANALYZE');
      await grow(app, growths, FEW);
      await grown?.();
      if (statistics === STATISTICS[2]) await app.database.query('ANALYZE');
      requests = given;
    }, 120_000);
    afterAll(() => app.close());

    it('are of every list and every parameter', () => {
      expect(Object.keys(requests.lists).sort()).toEqual([...operations.keys()].sort());
      for (const [name, operation] of operations) {
        const { filters, searches, bodies, fixed = '' } = requests.lists[name]!;
        const asked = [...Object.keys({ ...filters, ...searches }), ...new URLSearchParams(fixed).keys()];
        if (!bodies)
          expect([name, ...filtersOf(operation).filter((one) => !asked.includes(one))]).toEqual([name]);
      }
    });

    it.each([...operations.keys()])(
      '%s',
      async (name) => {
        const heavy = await heavyPages(name, operations.get(name)!);
        if (heavy.length > 0) throw new Error(describeHeavy(heavy));
      },
      120_000,
    );

    it('other requests', async () => {
      const heavy: Heavy[] = [];
      for (const [name, { path, by, body, rows }] of Object.entries(requests.others ?? {})) {
        const client = by!;
        const works = await measured(name, () => (body ? client.post(path, body) : client.get(path)));
        for (const work of works.works)
          if (work.rows > rows) heavy.push({ request: name, rows: work.rows, most: rows, work });
      }
      if (heavy.length > 0) throw new Error(describeHeavy(heavy));
    }, 120_000);

    async function measured(
      name: string,
      ask: () => Promise<Answer>,
    ): Promise<{ works: Work[]; answer: Answer }> {
      let answer: Answer | undefined;
      const works = await workOf(app.database, async () => (answer = await ask()));
      expect([name, answer?.status, answer?.status === 200 ? '' : answer?.body]).toEqual([name, 200, '']);
      return { works, answer: answer! };
    }

    /** Asks for pages of a list in every order, and by each filter. */
    async function heavyPages(name: string, operation: Operation): Promise<Heavy[]> {
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
      const heavy: Heavy[] = [];
      let listed = rows ?? 0;
      const ask = async (
        query: Record<string, string>,
        perMatch: number,
        body?: object,
        further = 0,
      ): Promise<Answer> => {
        const parameters = `${new URLSearchParams({ limit: String(LIMIT), ...query }).toString()}${fixed ? `&${fixed}` : ''}`;
        const shown = body ? { limit: LIMIT, ...query, ...body } : undefined;
        const request = `${name} ${shown ? JSON.stringify(shown) : parameters}`.slice(0, 150);
        const asked = () => (shown ? client.post(path, shown) : client.get(`${path}?${parameters}`));
        const { works, answer } = await measured(request, asked);
        const total = (answer.body.page.total as number | null) ?? 100_000;
        listed = Math.max(listed, total);
        for (const work of works) {
          const isCount = /^\s*SELECT count\(/.test(work.statement);
          const most = PAGE_ROWS + further + (perMatch > 0 ? perMatch * listed : isCount ? EACH * total : 0);
          if (work.rows > most) heavy.push({ request, rows: work.rows, most, work });
        }
        return answer;
      };
      const perMatch = isComputed ? EACH : 0;
      if (bodies) {
        for (const body of bodies) await ask({}, EACH_CHECKED, body);
        return heavy;
      }
      const directed = (sorts ?? []).flatMap((sort) => [sort, `-${sort}`]);
      for (const sort of [undefined, ...(sorts ? directed : sortsOf(operation))]) {
        const order: Record<string, string> = sort ? { sort } : {};
        await ask(order, perMatch);
        if (isShort || !operation.parameters?.some((one) => one.name === 'cursor')) continue;
        const first = await client.get(
          `${path}?${new URLSearchParams({ ...order, limit: '500' }).toString()}${fixed ? `&${fixed}` : ''}`,
        );
        const cursor = first.body.page.next_cursor as string | null;
        expect([name, sort, cursor]).toEqual([name, sort, expect.any(String)]);
        await ask({ ...order, cursor: cursor! }, perMatch);
      }
      if (operation.parameters?.some((one) => one.name === 'include_archived'))
        await ask({ include_archived: 'true' }, perMatch);
      for (const [filter, values] of Object.entries(filters))
        for (const value of values) await ask({ [filter]: value }, perMatch);
      for (const [filter, values] of Object.entries(searches))
        for (const value of values) await ask({ [filter]: value }, EACH_CHECKED);
      if (statistics === STATISTICS[2]) {
        for (const parameters of narrowed) await ask(parameters, 0, undefined, NARROWED_ROWS);
        for (const [filter, values] of Object.entries(rare))
          for (const value of values) await ask({ [filter]: value }, 0);
      }
      return heavy;
    }
  });
}
