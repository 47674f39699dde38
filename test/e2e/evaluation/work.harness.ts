import type { PreparedStatement, SqlExecutor } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { TestApp } from '#testing';

interface ExecutedPlan {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: ExecutedPlan[];
}

/** A statement, and how many rows all nodes of its plan went through. */
export interface Work {
  statement: string;
  rows: number;
  plan: ExecutedPlan;
}

type Query = SqlExecutor['query'];

/** Executes every statement by which a request is answered a time before, undone, and tells what it had to go through. */
export async function workOf({ database }: TestApp, ask: () => Promise<unknown>): Promise<Work[]> {
  const works: Work[] = [];
  const { query, transaction } = database;
  const measure = async (on: Query, statement: string | PreparedStatement, values: readonly unknown[]) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (!/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i.test(text)) return;
    await on('SAVEPOINT measured');
    try {
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
  const spies = [
    jest.spyOn(database, 'query').mockImplementation(async (statement, values = []) => {
      await transaction.call(database, (tx) => measure(tx.query, statement, values));
      return query.call(database, statement, values) as never;
    }),
    jest.spyOn(database, 'transaction').mockImplementation(((work: Parameters<typeof transaction>[0]) =>
      transaction.call(database, (tx) =>
        work({
          ...tx,
          query: async (statement, values = []) => {
            await measure(tx.query, statement, values);
            return tx.query(statement, values) as never;
          },
        }),
      )) as never),
  ];
  try {
    await ask();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
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
