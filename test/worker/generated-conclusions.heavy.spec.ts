import { ownApp, createTestWorker, type TestWorker } from '#testing';
import type { ComparisonDto } from '../../src/evaluation/experiments/compare/comparison.dto';
import type { GateResultDto } from '../../src/evaluation/experiments/gate/gate.dto';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';

const CASES = 4;
const STEPS = 14;
const SCORER = 'judged';

/** A generator with a seed (mulberry32), so that a failing sequence can be repeated. */
const randomOf = (seed: number) => (most: number) => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % most;
};

interface ExpectedResult {
  result_id: string;
  version: number;
  isFailed: boolean;
  clientScore: number | null | undefined;
}

/** The expected state of one experiment. */
interface ExpectedExperiment {
  experiment_id: string;
  /** The result of each case. */
  results: Map<string, ExpectedResult>;
  /** The hosted scores of the current version of each result. Keys are `<case> <scorer version>`. */
  hosted: Map<string, number | null>;
  finalized?: Reading;
}

interface Reading {
  experiment: Record<string, any>;
  results: Record<string, any>[];
}

/** Sends random sequences of requests about two experiments. */
describe('conclusions after a random sequence of requests', () => {
  const app = ownApp();
  let worker: TestWorker;

  beforeAll(async () => {
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await worker.close();
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('are consistent (seed %i)', async (seed) => {
    const random = randomOf(seed);
    const on = await ScoringFixture.create(app);
    const api = on.evaluator;
    const path = (one: ExpectedExperiment, rest = '') => `/eval/v1/experiments/${one.experiment_id}${rest}`;
    const ok = async <Body>(answer: Promise<{ status: number; body: Body }>, ...statuses: number[]) => {
      const { status, body } = await answer;
      if (!statuses.includes(status)) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return { status, body };
    };

    const { body: dataset } = await ok(
      api.post('/eval/v1/datasets', { workspace_id: on.workspaceId, name: 'cases' }),
      201,
    );
    const rows = Array.from({ length: CASES }, (_, i) => `c${i},${i}\n`).join('');
    const file = { workspace_id: on.workspaceId, content: `id,input\n${rows}` };
    await ok(api.post(`/eval/v1/datasets/${dataset.dataset_id}/versions`, file), 201);
    /** Returns the score of a case by a scorer version: not only 0 and 1, and sometimes null. */
    const scoreBy = (version: number, index: number): number | null =>
      (index + version) % 5 === 0 ? null : ((index * 3 + version) % 4) / 4;
    const source = (version: number) => `function score({ input }) {
      const index = Number(JSON.stringify(input).match(/\\d+/)[0]);
      return (index + ${version}) % 5 === 0 ? null : ((index * 3 + ${version}) % 4) / 4;
    }`;
    const scorer = await on.scorer({ name: SCORER, ...script(source(1)) });
    let scorerVersion = 1;

    const both: ExpectedExperiment[] = [];
    for (let i = 0; i < 2; i++) {
      const made = await on.experiment({ dataset_id: dataset.dataset_id, dataset_version: 1 });
      both.push({ experiment_id: made.experiment_id, results: new Map(), hosted: new Map() });
    }
    const isFinalized = (one: ExpectedExperiment): boolean => one.finalized !== undefined;

    const upload = async (one: ExpectedExperiment): Promise<void> => {
      const case_id = `c${random(CASES)}`;
      const isFailed = random(4) === 0;
      const clientScore = random(3) === 0 ? random(5) / 4 : undefined;
      const item = {
        case_id,
        ...(isFailed ? { error: 'crashed' } : { output: random(10) }),
        ...(clientScore !== undefined && { scores: { [SCORER]: clientScore } }),
      };
      const body = { workspace_id: on.workspaceId, on_conflict: 'replace', ...item };
      const answer = await ok(api.post(path(one, '/results'), body), 200, 201, 409);
      expect(answer.status === 409).toBe(isFinalized(one));
      if (isFinalized(one)) return;
      const version = (one.results.get(case_id)?.version ?? 0) + 1;
      expect(answer.body.version).toBe(version);
      one.results.set(case_id, { result_id: answer.body.result_id, version, isFailed, clientScore });
      for (const key of [...one.hosted.keys()]) if (key.startsWith(`${case_id} `)) one.hosted.delete(key);
    };

    /** Replaces the client's score of a result with a value that occurs nowhere else. */
    const patch = async (one: ExpectedExperiment): Promise<void> => {
      const [case_id, result] = [...one.results][random(Math.max(1, one.results.size))] ?? [];
      if (!case_id || !result) return;
      const clientScore = 2 + ++patches / 8;
      const body = { version: result.version, scores: { [SCORER]: clientScore } };
      const { status } = await ok(api.patch(path(one, `/results/${result.result_id}`), body), 200, 409);
      expect(status === 409).toBe(isFinalized(one));
      if (isFinalized(one)) return;
      one.results.set(case_id, { ...result, clientScore });
    };
    let patches = 0;

    const score = async (one: ExpectedExperiment): Promise<void> => {
      if (one.results.size === 0) return;
      const { body: run } = await ok(on.score(scorer, { experiment_id: one.experiment_id }), 202);
      await on.finished(run.score_run_id);
      for (const case_id of one.results.keys()) {
        one.hosted.set(`${case_id} ${scorerVersion}`, scoreBy(scorerVersion, Number(case_id.slice(1))));
      }
    };

    const changeScorer = async (): Promise<void> => {
      scorerVersion++;
      const definition = script(source(scorerVersion)).definition;
      await ok(api.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition }), 200);
    };

    const read = async (one: ExpectedExperiment): Promise<Reading> => ({
      experiment: (await ok(api.get(path(one)), 200)).body,
      results: (await ok(api.get(path(one, '/results?sort=created_at')), 200)).body.items,
    });

    const finalize = async (one: ExpectedExperiment): Promise<void> => {
      if (isFinalized(one)) return;
      await ok(api.patch(path(one), { experiment_status: 'completed' }), 200);
      const finalized = await read(one);
      // The mean of a summary equals the mean of the scores of its results.
      const values = finalized.results.flatMap((result) => result.scores[SCORER] ?? []) as number[];
      const summed = finalized.experiment.summary.scores[SCORER];
      expect(summed?.count ?? 0).toBe(values.length);
      if (values.length > 0) {
        expect(summed.mean).toBeCloseTo(values.reduce((a, b) => a + b) / values.length, 12);
      }
      one.finalized = finalized;
    };

    const versionsOf = (one: ExpectedExperiment, case_id: string): number[] =>
      [...one.hosted.keys()].flatMap((key) => (key.startsWith(`${case_id} `) ? Number(key.split(' ')[1]) : []));
    /**
     * Returns the score of a case by a version. Version 0 stands for scores without a version: a client's, which hosted ones
     * supersede.
     */
    const scoreOf = (one: ExpectedExperiment, case_id: string, version: number): number | null | undefined => {
      if (version > 0) return one.hosted.get(`${case_id} ${version}`);
      return versionsOf(one, case_id).length > 0 ? undefined : one.results.get(case_id)!.clientScore;
    };
    /** Returns the scores of one side that a comparison must use. */
    const scoresOf = (one: ExpectedExperiment, version: number): number[] =>
      [...one.results.keys()]
        .map((case_id) => scoreOf(one, case_id, version))
        .filter((score) => typeof score === 'number');

    const compare = async (candidate: ExpectedExperiment, baseline: ExpectedExperiment): Promise<void> => {
      const query = `?baseline_experiment_id=${baseline.experiment_id}`;
      const { status, body } = await ok(api.get<ComparisonDto>(path(candidate, `/compare${query}`)), 200, 409);
      expect(status === 200).toBe(isFinalized(baseline));
      const comparison = status === 200 ? body.scorers!.find((one) => one.scorer === SCORER) : undefined;
      if (!comparison) return;
      const sides = { candidate, baseline } as const;
      for (const side of ['candidate', 'baseline'] as const) {
        const { mean, count, scored_count, scorer_version } = comparison[side];
        const scores = scoresOf(sides[side], scorer_version ?? 0);
        // The mean of a side covers the scores of one version only.
        expect([side, scorer_version, count, scored_count]).toEqual([side, scorer_version, scores.length, scores.length]);
        if (count > 0) expect(mean).toBeCloseTo(scores.reduce((a, b) => a + b) / count, 12);
      }
      const [own, other] = [comparison.candidate.scorer_version, comparison.baseline.scorer_version];
      if (comparison.verdict === 'not_comparable') {
        expect([comparison.difference, comparison.p_value, comparison.confidence_interval]).toEqual([null, null, null]);
        return;
      }
      // A comparison never mixes versions.
      if (comparison.difference !== null) expect(own).toBe(other);
      for (const side of ['candidate', 'baseline'] as const) {
        const { scorer_version } = comparison[side];
        const one = sides[side];
        for (const [case_id, { clientScore }] of one.results) {
          const versions = versionsOf(one, case_id);
          if (clientScore !== undefined && versions.length === 0) versions.push(0);
          if (comparison[side].count > 0 && versions.length > 0) expect(versions).toContain(scorer_version ?? 0);
        }
      }
    }; // oxfmt-ignore

    const gate = async (candidate: ExpectedExperiment, baseline: ExpectedExperiment): Promise<void> => {
      const body = {
        ...(isFinalized(baseline) && { baseline_experiment_id: baseline.experiment_id }),
        rules: [{ scorer: SCORER, min_count: 1, max_regression: 1 }],
      };
      const { body: result } = await ok(api.post<GateResultDto>(path(candidate, '/gate'), body), 200);
      const check = result.checks.find((one) => one.kind === 'min_coverage')!;
      const { scored_count, null_count } = result.coverage.scorers[SCORER] ?? { scored_count: 0, null_count: 0 };
      expect(result.coverage).toMatchObject({ expected_case_count: CASES, result_count: candidate.results.size });
      // Crashed cases without a score are never covered.
      const covered = [...candidate.results].filter(([case_id, { isFailed }]) => {
        const own = scoreOf(candidate, case_id, check.scorer_version ?? 0);
        return typeof own === 'number' || (own === null && !isFailed);
      });
      expect(scored_count + null_count).toBe(covered.length);
      // A gate never passes below its coverage.
      if (result.passed) expect(covered.length).toBe(CASES);
    };

    for (let step = 0; step < STEPS; step++) {
      const [one, other] = random(2) === 0 ? [both[0]!, both[1]!] : [both[1]!, both[0]!];
      const actions = [upload, upload, upload, patch, score, score, changeScorer, finalize];
      await actions[random(actions.length)]!(one);
      await compare(one, other);
      await gate(one, other);
    }
    for (const one of both) await finalize(one);
    for (const one of both) await score(one);
    await compare(both[0]!, both[1]!);
    await gate(both[0]!, both[1]!);
    // What is stored of a finalized experiment never changes. Its scores may.
    for (const one of both) expect(stored(await read(one))).toEqual(stored(one.finalized!));
  }, 120_000); // oxfmt-ignore
});

/** Returns what is stored of an experiment and its results: all but their scores. */
const stored = ({ experiment, results }: Reading) => {
  const { current_scores: _current, late_count: _late, ...own } = experiment;
  return { own, results: results.map(({ scores: _scores, score_details: _details, ...result }) => result) };
};
