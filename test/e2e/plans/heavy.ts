import type { Work } from '../evaluation/work.harness';

/** A statement that goes through more rows than it may. */
export interface Heavy {
  request: string;
  rows: number;
  most: number;
  work: Work;
}

/** Tells what the statements are, and how PostgreSQL executes them. */
export function describeHeavy(heavy: readonly Heavy[]): string {
  const lines = heavy.map(
    ({ request, rows, most, work }) =>
      `${rows} rows, not ${most}: ${request}\n${planOf(work.plan as never)}\n  ${work.statement.replace(/\s+/g, ' ').slice(0, 900)}`,
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
