import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import type { SummaryFields } from './summary.js';

/** A result with a low score. */
export interface LowScore {
  scorer: string;
  caseId: string;
  score: number;
  input: unknown;
  expected: unknown;
  output: unknown;
}

const SHOWN_MAX = 5;
const SCORERS_MAX = 10;

/** Returns the lowest scores of the scorers whose checks failed; without a gate, of all. Leaves out scores that are good. */
export async function readLowest(
  client: Client,
  experiment_id: string,
  { gate, scores }: Pick<SummaryFields, 'gate' | 'scores'>,
  options: RequestOptions,
): Promise<LowScore[]> {
  const failed = gate?.checks.flatMap(({ status, scorer }) =>
    status === 'failed' && scorer ? [scorer] : [],
  );
  const lowest: LowScore[] = [];
  for (const scorer of [...new Set(failed ?? Object.keys(scores))].slice(0, SCORERS_MAX)) {
    const { items } = await client.api.listResults(
      { experiment_id, sort: `score:${scorer}`, limit: SHOWN_MAX, total: false },
      options,
    );
    for (const { case_id: caseId, scores: own, input, expected, output } of items) {
      const score = own[scorer];
      // the service does not know the highest possible score: most scorers have 1
      if (typeof score === 'number' && score < Math.max(1, scores[scorer]?.mean ?? 1))
        lowest.push({ scorer, caseId, score, input, expected, output });
    }
  }
  return lowest;
}
