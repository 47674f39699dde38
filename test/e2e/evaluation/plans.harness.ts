import type { SqlExecutor, Statement, Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { Answer, TestApp } from '#testing';
import type { Page } from './evaluation.harness';
import { statementsOf } from './work.harness';

export interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Parent Relationship'?: string;
  Plans?: Plan[];
}

/** Returns the plans of the statements of a list or a search: of its count and of its rows. */
export async function plansOf(
  { database }: TestApp,
  title: string,
  ask: () => Promise<Answer<Page<unknown>>>,
): Promise<Plan[]> {
  let answer: Answer<Page<unknown>> | undefined;
  const statements = await statementsOf(database, async () => (answer = await ask()));
  expect([title, answer?.status, answer!.body.items.length > 0]).toEqual([title, 200, true]);
  const selects = statements.filter(({ text }) => /page_key|count\(/.test(text));
  expect(selects.length).toBeGreaterThan(0);
  return Promise.all(selects.map(({ text, values }) => planOf(database, text, values)));
}

/** Returns the plan of a statement. */
export async function planOf(
  on: SqlExecutor,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Plan> {
  const { text, values: own = values } = typeof statement === 'string' ? { text: statement } : statement;
  const [row] = await on.query<{ 'QUERY PLAN': RawJson }>(`EXPLAIN (FORMAT JSON) ${text}`, own);
  return (row!['QUERY PLAN'].parse() as [{ Plan: Plan }])[0].Plan;
}

/** Returns the plans of the statements that `work` runs in a transaction or on the database. */
export async function plansWithin(
  { database }: TestApp,
  work: (tx: Tx) => Promise<unknown>,
): Promise<Plan[]> {
  const plans: Plan[] = [];
  const onDatabase = jest.spyOn(database, 'query');
  await database.transaction((tx) =>
    work({
      ...tx,
      query: async (statement, values) => {
        plans.push(await planOf(tx, statement, values));
        return tx.query(statement, values);
      },
    }),
  );
  const statements = [...onDatabase.mock.calls];
  onDatabase.mockRestore();
  for (const [statement, values] of statements) plans.push(await planOf(database, statement, values));
  return plans;
}

export const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Returns the nodes that scan tables and indexes. */
export const scansOf = (plans: Plan[]): Plan[] =>
  plans.flatMap(nodesOf).filter((node) => node['Relation Name'] ?? node['Index Name']);

/** Returns the tables with few rows. PostgreSQL scans them despite their indexes once its statistics know their size. */
export async function smallTables({ database }: TestApp): Promise<ReadonlySet<string>> {
  const rows = await database.query<{ relname: string }>(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples < 1000`,
  );
  return new Set(rows.map(({ relname }) => relname));
}

/** Vacuums until every page is all-visible, which concurrent readers can delay. */
export async function vacuum({ database }: TestApp, tables: string[]): Promise<void> {
  for (;;) {
    await database.query(`VACUUM (ANALYZE) ${tables.join(', ')}`);
    const rest = await database.query(
      'SELECT 1 FROM pg_class WHERE oid = ANY ($1::regclass[]) AND relallvisible < relpages',
      [tables],
    );
    if (rest.length === 0) return;
  }
}
