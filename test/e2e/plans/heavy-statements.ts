import type { Work } from '../evaluation/work.harness';

/** A statement that reads more rows than allowed. */
export interface HeavyStatement {
  request: string;
  rows: number;
  maxRows: number;
  work: Work;
}

/** Returns the statements and their query plans as text. */
export function describeHeavyStatements(heavy: readonly HeavyStatement[]): string {
  const lines = heavy.map(
    ({ request, rows, maxRows, work }) =>
      `${rows} rows, at most ${maxRows} allowed: ${request}\n${planOf(work.plan as never)}\n  ${work.statement.replace(/\s+/g, ' ').slice(0, 900)}`,
  );
  return lines.join('\n\n').slice(0, 20_000);
}

interface Node {
  'Node Type': string;
  'Index Name'?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Node[];
}

const planOf = (node: Node, depth = 1): string =>
  [
    `${'  '.repeat(depth)}${node['Node Type']} ${node['Index Name'] ?? node['Relation Name'] ?? ''} ${node['Actual Rows']}x${node['Actual Loops']}`,
    ...(node.Plans ?? []).map((one) => planOf(one, depth + 1)),
  ].join('\n');
