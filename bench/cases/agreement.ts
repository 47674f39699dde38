import { AgreementRepository } from '../../src/evaluation/scorers/agreement/agreement.repository';
import type { Bench } from '../bench';
import { compare, timed } from '../measure';

const CASES = 10_000;
const PEOPLE = 3;

/**
 * Measures the agreement of a judge with 3 people on 10,000 cases, in milliseconds (a ratio above 1 is slower). The baseline
 * runs only the statements that read the scores, so the difference is the cost of the statistics.
 */
export async function agreement(bench: Bench): Promise<void> {
  const { workspaceId } = bench.scope;
  const output = {
    type: 'choice',
    choices: ['kind', 'curt', 'rude'].map((value, n) => ({ value, score: 1 - n / 2 })),
  };
  const scorer = async (scorer_kind: string, definition: object): Promise<string> => {
    const name = `${scorer_kind} ${Math.random()}`;
    const body = { workspace_id: workspaceId, name, scorer_kind, definition };
    return (await bench.http.json<{ scorer_id: string }>('POST', '/eval/v1/scorers', 201, body)).scorer_id;
  };
  const judge = await scorer('llm_judge', { prompt: 'Is {{output}} kind?', output });
  const person = await scorer('human', { rubric: 'Is it kind?', output });
  const insert = (scorerId: string, raters: number, source: string): Promise<unknown> =>
    bench.direct.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source, target_kind,
                           trace_id, score, label, output_sha256, created_at, created_by)
       SELECT 'score_a' || $6 || p || lpad(n::text, 20, '0'), $1, $2, 1, $3, $2, $4, 'trace', 'a' || lpad(to_hex(n), 31, '0'),
              1 - choice / 2.0, (ARRAY['kind', 'curt', 'rude'])[choice + 1], 'o', now(), 'person ' || p
       FROM generate_series(1, $5::int) n CROSS JOIN generate_series(1, $7::int) p
       CROSS JOIN LATERAL (SELECT CASE WHEN random() < 0.3 THEN n * p % 3 ELSE n % 3 END AS choice) c`,
      [workspaceId, scorerId, source === 'human' ? 'human' : 'llm_judge', source, CASES, source[1], raters],
    );
  await insert(judge, 1, 'hosted');
  await insert(person, PEOPLE, 'human');
  await bench.direct.query('VACUUM (ANALYZE) scores');
  const path = `/eval/v1/scorers/${judge}/agreement?reference_scorer_id=${person}`;
  const result = await compare([
    { name: 'direct', measure: () => timed(() => read(bench, judge, person)) },
    { name: 'service', measure: () => timed(() => bench.http.send('GET', path, 200)) },
  ]);
  bench.report(`agreement over ${CASES} cases with ${PEOPLE} people`, 'ms', result, ['direct', 'service']);
}

/** Runs the statements of the service. */
async function read({ scope, direct }: Bench, judge: string, person: string): Promise<void> {
  const ratings = new AgreementRepository(direct.database);
  const people = { scorerId: person, version: null };
  const byPeople = { ...people, output: await ratings.answeredOutput(scope, people) };
  const byJudge = { scorerId: judge, version: null, output: null };
  const [{ items }] = await Promise.all([
    ratings.newest(scope, byPeople, 'annotators'),
    ratings.newest(scope, byPeople, 'others'),
    ratings.newest(scope, byJudge, 'others'),
  ]);
  await Promise.all([
    ratings.findByOthers(scope, byJudge, items, null),
    ratings.findByOthers(scope, byPeople, items, null),
    ratings.findByAnnotators(scope, byPeople, items, null),
  ]);
}
