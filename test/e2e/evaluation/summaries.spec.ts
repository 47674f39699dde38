import fc from 'fast-check';
import { sharedApp } from '#testing';
import { EvaluationWorkspace, type Experiment } from './evaluation.harness';
import { fillResultScores } from './result-scores.fixture';

type Fields = Record<string, unknown>;

describe('the summary of an experiment', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  /** Returns the summary of an experiment whose results have these scores. */
  async function summaryOf(scores: Fields[]): Promise<NonNullable<Experiment['summary']>> {
    const { experiment_id: id } = await space.experiment();
    const items = scores.map((one, index) => ({ case_id: `${index}`, scores: one }));
    expect(await space.results(id, items)).toEqual(items.map(() => 201));
    return (await space.finalize(id)).summary!;
  }

  /** Creates a scorer with this many versions. */
  async function scorer(name: string, versions = 1): Promise<string> {
    const definition = { language: 'javascript', source: 'function score() { return 1; }' };
    const fields = { name, scorer_kind: 'code', definition };
    const { scorer_id } = (await space.post<{ scorer_id: string }>('/eval/v1/scorers', fields)).body;
    for (let version = 2; version <= versions; version++) {
      const source = `function score() { return ${version}; }`;
      await space.editor.patch(`/eval/v1/scorers/${scorer_id}`, { definition: { ...definition, source } });
    }
    return scorer_id;
  }

  it('has the double nearest to the true mean', async () => {
    const decimal = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
    await fc.assert(
      fc.asyncProperty(fc.array(decimal, { minLength: 1, maxLength: 30 }), async (millionths) => {
        const { scores } = await summaryOf(millionths.map((one) => ({ s: one / 1e6 })));
        // A single division of exact integers is rounded correctly.
        const total = millionths.reduce((sum, one) => sum + one, 0);
        const mean = total / (millionths.length * 1e6);
        expect(scores!.s).toEqual({ mean: mean + 0, count: millionths.length });
      }),
      { numRuns: 20 },
    );
  });

  it('has 0.3 as the mean of 0.1 and 0.5, and one third with all digits', async () => {
    const { scores } = await summaryOf([
      { a: 0.1, third: 1, large: 2 ** 53 },
      { a: 0.5, third: 0, large: 1 },
      { third: 0 },
    ]);
    expect(scores).toEqual({
      a: { mean: 0.3, count: 2 },
      third: { mean: 0.3333333333333333, count: 3 },
      large: { mean: 2 ** 52, count: 2 },
    });
  });

  it('is computed from the smallest and the largest numbers', async () => {
    const { scores } = await summaryOf([
      { tiny: 5e-324, less: 5e-324, huge: 1.7976931348623157e308, both: 1.7976931348623157e308 },
      { tiny: 5e-324, less: 0, huge: 1.7976931348623157e308, both: 5e-324 },
      { less: 0 },
    ]);
    expect(scores).toEqual({
      tiny: { mean: 5e-324, count: 2 },
      less: { mean: 0, count: 3 },
      huge: { mean: 1.7976931348623157e308, count: 2 },
      both: { mean: 1.7976931348623157e308 / 2, count: 2 },
    });
  });

  it('omits the mean of a scorer with only nulls, but has its reference', async () => {
    const silent = await scorer('silent');
    const versioned = await scorer('versioned', 2);
    const { scores, scorers } = await summaryOf([
      { none: null, silent: { score: null, scorer_id: silent, scorer_version: 1 } },
      { none: { score: null }, v: { score: true, scorer_id: versioned, scorer_version: 2 } },
      { v: { score: 0, scorer_id: versioned, scorer_version: 1 } },
      // A reference requires a version.
      { v: 1, half: { score: 1, scorer_id: versioned } },
    ]);
    expect(scores).toEqual({ v: { mean: 2 / 3, count: 3 }, half: { mean: 1, count: 1 } });
    expect(scorers).toEqual({
      silent: { scorer_id: silent, scorer_version: 1 },
      // The newest result with a version counts.
      v: { scorer_id: versioned, scorer_version: 1 },
    });
  });

  it('handles any scorer name', async () => {
    const names = ['__proto__', 'constructor', 'toString', '10', '9', '', 'é😀', 'a.b', '%s'].filter(Boolean);
    const { scores } = await summaryOf([
      Object.fromEntries(names.map((name, index) => [name, index])),
      Object.fromEntries(names.map((name) => [name, null])),
    ]);
    expect(Object.keys(scores!).sort()).toEqual([...names].sort());
    for (const [index, name] of names.entries()) {
      expect(Object.getOwnPropertyDescriptor(scores, name)?.value).toEqual({ mean: index, count: 1 });
    }
  });

  it('holds the first 1,000 scorers by name, and reports truncation', async () => {
    const named = (count: number) =>
      Array.from({ length: count }, (_, index) => `s${String(index).padStart(4, '0')}`);
    const inTens = (names: string[]) =>
      Array.from({ length: Math.ceil(names.length / 100) }, (_, index) =>
        Object.fromEntries(names.slice(index * 100, index * 100 + 100).map((name) => [name, 1])),
      );
    const all = await summaryOf(inTens(named(1_000)));
    expect([Object.keys(all.scores!).length, all.is_scorers_truncated]).toEqual([1_000, false]);
    const cut = await summaryOf(inTens(named(1_001)));
    expect([Object.keys(cut.scores!), cut.is_scorers_truncated]).toEqual([named(1_000), true]);
    // All its results are covered.
    expect(cut.is_truncated).toBe(false);
  });

  it('"results folded into a summary: 10,000 per experiment", in order of arrival', async () => {
    const [early, late] = [await scorer('early'), await scorer('late')];
    const { experiment_id: id } = await space.experiment();
    const reference = (scorerId: string, version: number) =>
      `{"scorer_id": "${scorerId}", "scorer_version": ${version}}`;
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
       FROM generate_series(1, 10001) n ORDER BY n DESC`,
      [id, space.id],
    );
    await fillResultScores(app.database, id, {
      scores: `CASE WHEN n <= 10000 THEN '{"s": 0.25, "b": 1}' ELSE '{"s": 1, "late": 1}' END`,
      details: `CASE WHEN n <= 10000 THEN '{"s": ${reference(early, 1)}}'
                     ELSE '{"s": ${reference(early, 2)}, "late": ${reference(late, 1)}}' END`,
    });
    expect((await space.finalize(id)).summary).toEqual({
      scores: { b: { mean: 1, count: 10_000 }, s: { mean: 0.25, count: 10_000 } },
      scorers: { s: { scorer_id: early, scorer_version: 1 } },
      coverage: {
        expected_case_count: null,
        result_count: 10_000,
        error_count: 0,
        scorers: {
          b: { scored_count: 10_000, null_count: 0 },
          s: { scored_count: 10_000, null_count: 0 },
        },
      },
      metrics: null,
      is_truncated: true,
      is_scorers_truncated: false,
    });
  });

  it('stores metrics verbatim', async () => {
    const { experiment_id: id } = await space.experiment();
    const metrics = {
      durationMs: 12.5,
      cases: 3,
      successfulCases: 2,
      failed_cases: 1,
      extra: { '10': [null, '😀'], '9': 1e21, nested: { b: 1, a: 2 } },
    };
    const { summary } = await space.finalize(id, { metrics });
    expect(JSON.stringify(summary!.metrics)).toBe(JSON.stringify(metrics));
    expect((await space.list<Experiment>('/eval/v1/experiments')).find((one) => one.experiment_id === id)!.summary)
      .toEqual(summary); // oxfmt-ignore
  });
});
