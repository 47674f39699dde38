import { type Database, followIndexes, type Statement, type SqlExecutor } from '#platform/db';
import type { RawJson } from '#platform/json';

interface ExecutedPlan {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: ExecutedPlan[];
}

/** A statement, and the total number of rows that the nodes of its plan processed. */
export interface Work {
  statement: string;
  rows: number;
  plan: ExecutedPlan;
}

type Query = SqlExecutor['query'];

/** Receives each statement before it is executed. @param on executes other statements in the same transaction */
type Watch = (on: Query, text: string, values: readonly unknown[], isIndexOrdered: boolean) => Promise<void>;

/** Watches every statement that a process executes during `work`. */
export async function watchStatements(
  database: Database,
  watch: Watch,
  work: () => Promise<unknown>,
): Promise<void> {
  const { query, transaction } = database;
  const textOf = (statement: Statement): string =>
    typeof statement === 'string' ? statement : statement.text;
  const valuesOf = (statement: Statement, values?: readonly unknown[]): readonly unknown[] =>
    values ?? (typeof statement === 'string' ? [] : (statement.values ?? []));
  const spies = [
    jest.spyOn(database, 'query').mockImplementation(async (statement, values) => {
      const isIndexOrdered = typeof statement !== 'string' && 'isIndexOrdered' in statement;
      await transaction.call(database, (tx) =>
        watch(tx.query, textOf(statement), valuesOf(statement, values), isIndexOrdered),
      );
      return query.call(database, statement, values) as never;
    }),
    jest.spyOn(database, 'transaction').mockImplementation(((inner: Parameters<typeof transaction>[0]) =>
      transaction.call(database, (tx) =>
        inner({
          ...tx,
          query: async (statement, values) => {
            await watch(tx.query, textOf(statement), valuesOf(statement, values), false);
            return tx.query(statement, values) as never;
          },
        }),
      )) as never),
  ];
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** A statement as it was sent. */
export interface SentStatement {
  text: string;
  values: readonly unknown[];
}

/** Returns every statement that a process executes during a request. */
export async function statementsOf(
  database: Database,
  ask: () => Promise<unknown>,
): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const note: Watch = (_, text, values) => {
    sent.push({ text, values });
    return Promise.resolve();
  };
  await watchStatements(database, note, ask);
  return sent;
}

/** Runs EXPLAIN ANALYZE for every statement of a process before it runs, rolls it back, and returns the rows of each. */
export async function workOf(database: Database, ask: () => Promise<unknown>): Promise<Work[]> {
  const works: Work[] = [];
  const measure: Watch = async (on, text, values, isIndexOrdered) => {
    if (!/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i.test(text)) return;
    await on('SAVEPOINT measured');
    try {
      if (isIndexOrdered) await followIndexes({ query: on } as SqlExecutor);
      const [row] = await on<{ 'QUERY PLAN': RawJson }>(
        `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
        values,
      );
      const [{ Plan: plan }] = row!['QUERY PLAN'].parse() as [{ Plan: ExecutedPlan }];
      works.push({ statement: text, rows: rowsOf(plan), plan });
    } finally {
      await on('ROLLBACK TO SAVEPOINT measured');
    }
  };
  await watchStatements(database, measure, ask);
  return works;
}

function rowsOf(plan: ExecutedPlan): number {
  const each =
    plan['Actual Rows'] +
    (plan['Rows Removed by Filter'] ?? 0) +
    (plan['Rows Removed by Join Filter'] ?? 0) +
    (plan['Rows Removed by Index Recheck'] ?? 0);
  return (plan.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), each * plan['Actual Loops']);
}
