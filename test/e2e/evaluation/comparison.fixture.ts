import type { Answer } from '#testing';
import type {
  ComparisonDto,
  ScorerComparisonDto,
} from '../../../src/evaluation/experiments/compare/comparison.dto';
import type { EvaluationWorkspace } from './evaluation.harness';
import { fillResultScores } from './result-scores.fixture';

export const EXPERIMENTS = '/eval/v1/experiments';

type Fields = Record<string, unknown>;

/** Creates an experiment with the given results, sent 100 to a request. Returns its id. */
export async function experimentOf(
  space: EvaluationWorkspace,
  results: Fields[],
  fields: Fields = {},
): Promise<string> {
  const { experiment_id: id } = await space.experiment(fields);
  for (let i = 0; i < results.length; i += 100) {
    const written = await space.results(id, results.slice(i, i + 100));
    if (written.some((status) => status !== 201))
      throw new Error(`some results were not stored: ${written.join()}`);
  }
  return id;
}

/** Creates a completed experiment with the given results. Returns its id. */
export async function completed(
  space: EvaluationWorkspace,
  results: Fields[],
  fields: Fields = {},
): Promise<string> {
  const id = await experimentOf(space, results, fields);
  await space.finalize(id);
  return id;
}

/** Returns results `case 0`, `case 1`, … with the given scores of one scorer. Null stands for no score. */
export const scored = (scorer: string, scores: (number | null)[]): Fields[] =>
  scores.map((score, i) => ({
    case_id: `case ${i}`,
    ...(score !== null && { scores: { [scorer]: score } }),
  }));

export const compare = (
  space: EvaluationWorkspace,
  candidate: string,
  query: Record<string, string> = {},
): Promise<Answer<ComparisonDto>> =>
  space.viewer.get(`${EXPERIMENTS}/${candidate}/compare?${new URLSearchParams(query).toString()}`);

/** Compares two experiments, and throws if that fails. Completes the baseline first if it is running. */
export async function compared(
  space: EvaluationWorkspace,
  candidate: string,
  baseline: string,
  query: Record<string, string> = {},
): Promise<ComparisonDto> {
  const path = `${EXPERIMENTS}/${baseline}`;
  const { body } = await space.viewer.get<{ experiment_status: string }>(path);
  if (body.experiment_status === 'running') await space.finalize(baseline);
  const answer = await compare(space, candidate, { baseline_experiment_id: baseline, ...query });
  if (answer.status !== 200) throw new Error(`the comparison failed: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Returns the part of a comparison for one scorer. */
export function byScorer({ scorers }: ComparisonDto, name: string): ScorerComparisonDto {
  const comparison = scorers?.find((one) => one.scorer === name);
  if (!comparison) throw new Error(`the comparison has no scorer ${name}`);
  return comparison;
}

/** Inserts results into an experiment. `scores` and `output` are SQL expressions of the number `n` of the result. */
export async function fill(
  space: EvaluationWorkspace,
  database: { query(statement: string, values: unknown[]): Promise<unknown> },
  experimentId: string,
  count: number,
  scores: string,
  output = 'NULL',
): Promise<void> {
  await database.query(
    `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, output, created_at, updated_at, created_by)
     SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, ${output}, now(), now(), 'test'
     FROM generate_series(1, $3::int) n`,
    [experimentId, space.id, count],
  );
  await fillResultScores(database, experimentId, { scores });
}

/** Returns all pages of cases, read by cursor. */
export async function pages(
  space: EvaluationWorkspace,
  candidate: string,
  baseline: string,
  query: Record<string, string> = {},
): Promise<ComparisonDto['cases'][]> {
  const all: ComparisonDto['cases'][] = [];
  let cursor: string | null = null;
  do {
    const { cases }: ComparisonDto = await compared(space, candidate, baseline, {
      ...query,
      ...(cursor !== null && { cursor }),
    });
    all.push(cases);
    cursor = cases.page.next_cursor;
  } while (cursor !== null);
  return all;
}
