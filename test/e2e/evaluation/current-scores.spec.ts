import { sharedJudge } from '#testing';
import { AgreementFixture } from './agreement.fixture';
import { compare, EXPERIMENTS } from './comparison.fixture';
import { BOOLEAN, type HumanScoresFixture, SCORES, type Scorer } from './human-scores.fixture';

describe('the current score of a result and a name', () => {
  const service = sharedJudge();
  let fixture: AgreementFixture;
  let on: HumanScoresFixture;

  beforeEach(async () => {
    fixture = await AgreementFixture.open(service.app);
    ({ on } = fixture);
  });

  const run = async ({ scorer_id }: Scorer, experiment_id: string, body = {}): Promise<void> => {
    const started = await fixture.space.evaluator.post(`/eval/v1/scorers/${scorer_id}/score`, {
      experiment_id,
      ...body,
    });
    expect(started.status).toBe(202);
    for (;;) {
      const { run_status } = (
        await fixture.space.viewer.get(`/eval/v1/score-runs/${started.body.score_run_id}`)
      ).body;
      if (run_status === 'succeeded') return;
      if (run_status === 'failed') throw new Error('the run failed');
      await new Promise((then) => setTimeout(then, 50));
    }
  };
  const get = async (path: string): Promise<any> => (await fixture.space.viewer.get(path)).body;

  /** Returns the mean of a name as each place shows it, over all results of an experiment. */
  const everywhere = async (id: string, name: string) => {
    const { viewer } = fixture.space;
    const results = `${EXPERIMENTS}/${id}/results`;
    const key = encodeURIComponent(name);
    const meanOf = (items: any[]) => {
      const numbers = items.flatMap((one) => one.scores[name] ?? []);
      return numbers.length === 0
        ? null
        : numbers.reduce((sum: number, one: number) => sum + one, 0) / numbers.length;
    };
    const { items } = await get(results);
    const jsonl = await viewer.get<string>(`${results}/export`);
    const csv = await viewer.get<string>(`${results}/export?format=csv`);
    const cells = [...csv.body.matchAll(new RegExp(`""${name}"" ?: ?([\\d.]+)`, 'g'))].map(([, number]) =>
      Number(number),
    );
    const gate = await viewer.post(`${EXPERIMENTS}/${id}/gate`, {
      rules: [{ scorer: name, min_mean: 0 }],
    });
    const baseline = await fixture.space.experiment();
    await fixture.space.finalize(baseline.experiment_id);
    const compared = await compare(fixture.space, id, { baseline_experiment_id: baseline.experiment_id });
    const passed = await get(`${results}?score=${key}:gte:0.5`);
    const sorted = await get(`${results}?sort=-score:${key}`);
    return {
      results: meanOf(items),
      jsonl: meanOf(
        jsonl.body
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      ),
      csv: cells.length === 0 ? null : cells.reduce((sum, one) => sum + one, 0) / cells.length,
      current: (await get(`${EXPERIMENTS}/${id}`)).current_scores[name]?.mean ?? null,
      gate: gate.body.checks?.[0]?.actual ?? null,
      compare: compared.body.scorers?.find((one) => one.scorer === name)?.candidate.mean ?? null,
      passed: passed.items?.length,
      first: sorted.items?.[0]?.scores[name] ?? null,
    };
  };
  const allAre = (mean: number, passed: number, first = mean) => ({
    ...{ results: mean, jsonl: mean, csv: mean, current: mean, gate: mean, compare: mean, passed, first },
  });

  it('is the hosted one, not the client’s 1 of the same name, which stays in the list as superseded', async () => {
    const { space } = fixture;
    const exact = await fixture.code('function score() { return 0 }');
    const { experiment_id } = await space.experiment();
    const result = await space.result(experiment_id, { output: 'x', trace_id: await on.exportTrace(), scores: { [exact.name]: 1 } });
    expect((await everywhere(experiment_id, exact.name)).results).toBe(1);
    await run(exact, experiment_id);
    await space.evaluator.post(SCORES, { workspace_id: space.id, scorer_name: exact.name, result_id: result.result_id, score: 1, author: 'late' });
    const { summary } = await space.finalize(experiment_id);
    expect(summary!.scores![exact.name]).toEqual({ mean: 0, count: 1 });
    expect(await everywhere(experiment_id, exact.name)).toEqual(allAre(0, 0));
    const scores = await space.list<any>(`${SCORES}?experiment_id=${experiment_id}&include_superseded=true`);
    expect(scores.map((one) => [one.source, one.score, one.superseded_at !== null])).toEqual([
      ['client', 1, true],
      ['hosted', 0, false],
      ['client', 1, true],
    ]);
    const { items } = await get(`/telemetry/v1/traces?score=${encodeURIComponent(exact.name)}:lte:0.5`);
    expect(items[0].scores.map((one: any) => [one.source, one.score])).toEqual([['hosted', 0]]);
    expect((await get(`/telemetry/v1/traces?score=${encodeURIComponent(exact.name)}:gte:0.5`)).items).toEqual([]);
  }); // oxfmt-ignore

  it('is the one of a late rescore and of a late scorer, wherever it is shown; the summary stays', async () => {
    const { space } = fixture;
    const first = await fixture.code('function score({ output }) { return output === "a" ? 0.4 : 0 }');
    const { experiment_id } = await space.experiment();
    const results = [];
    for (const output of ['a', 'b']) results.push(await space.result(experiment_id, { output }));
    await run(first, experiment_id);
    const { summary } = await space.finalize(experiment_id);
    expect(summary!.scores).toEqual({ [first.name]: { mean: 0.2, count: 2 } });
    const path = `${EXPERIMENTS}/${experiment_id}`;
    const paths = [path, `${path}/results/${results[0]!.result_id}`];
    const etagsOf = () => Promise.all(paths.map(async (one) => (await space.viewer.get(one)).headers.get('etag')!));
    const statusesOf = (etags: string[]) =>
      Promise.all(paths.map(async (one, i) => (await space.viewer.get(one, { 'If-None-Match': etags[i]! })).status));
    const before = await etagsOf();
    expect(await statusesOf(before)).toEqual([304, 304]);

    const definition = { language: 'javascript', source: 'function score() { return 0.9 }' };
    await space.editor.patch(`/eval/v1/scorers/${first.scorer_id}`, { definition });
    await run(first, experiment_id);
    expect(await everywhere(experiment_id, first.name)).toEqual(allAre(0.9, 2));
    expect(await statusesOf(before)).toEqual([200, 200]);
    const rescored = await etagsOf();
    const late = await fixture.code('function score() { return 1 }');
    await run(late, experiment_id);
    expect(await everywhere(experiment_id, late.name)).toEqual(allAre(1, 2));
    expect(await statusesOf(rescored)).toEqual([200, 200]);
    expect(await get(path)).toMatchObject({ summary, late_count: 4 });
  }); // oxfmt-ignore

  it('is people’s mean, also if they annotate late, until a client or a run scores; never an end user’s', async () => {
    const { space } = fixture;
    const person = await on.scorer(BOOLEAN);
    const ben = await on.annotator();
    const { experiment_id } = await space.experiment();
    const { result_id } = await space.result(experiment_id, { output: 'x', trace_id: await on.exportTrace() });
    const { generation: _, ...finalized } = (await space.finalize(experiment_id)) as any;
    const path = `${EXPERIMENTS}/${experiment_id}/results/${result_id}`;
    const before = (await space.viewer.get(path)).headers.get('etag')!;
    const runtime = await space.organization.as('runtime');
    const asUser = await runtime.post(SCORES, { workspace_id: space.id, scorer_name: person.name, result_id, score: false });
    expect(asUser.status).toBe(201);
    expect((await everywhere(experiment_id, person.name)).results).toBeNull();
    expect((await space.viewer.get(path, { 'If-None-Match': before })).status).toBe(304);
    for (const [by, score] of [[on.ann, true], [ben, false]] as const) await on.score(person, { result_id, score }, by);
    expect(await everywhere(experiment_id, person.name)).toEqual(allAre(0.5, 1));
    expect((await space.viewer.get(path, { 'If-None-Match': before })).status).toBe(200);
    expect(await get(`${EXPERIMENTS}/${experiment_id}`)).toMatchObject({ summary: finalized.summary, late_count: 1 });
  }); // oxfmt-ignore

  it('changes the ETag of a result, but not the version that If-Match compares', async () => {
    const { space } = fixture;
    const judge = await fixture.code('function score() { return 0.5 }');
    const { experiment_id } = await space.experiment();
    const { result_id } = await space.result(experiment_id, { output: 'x' });
    const path = `${EXPERIMENTS}/${experiment_id}/results/${result_id}`;
    const etag = (await space.viewer.get(path)).headers.get('etag')!;
    await run(judge, experiment_id);
    expect((await space.viewer.get(path, { 'If-None-Match': etag })).status).toBe(200);
    const patch = (tags: string[]) => space.editor.patch(path, { tags }, { 'If-Match': etag });
    expect((await patch(['a'])).body).toMatchObject({ tags: ['a'], scores: { [judge.name]: 0.5 } });
    expect((await patch(['b'])).status).toBe(412);
  });
});
