import { sharedApp } from '#testing';
import { byScorer, compared, experimentOf, scored } from './comparison.fixture';
import { uploadVersion } from './dataset-versions.fixture';
import { EvaluationWorkspace } from './evaluation.harness';

describe('a comparison of the cases that two experiments share', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  it('counts repeated trials of a case as one case', async () => {
    const trials = (means: number[]) =>
      means.flatMap((mean, group) =>
        Array.from({ length: 20 }, (_, i) => ({
          case_id: `${group} ${i}`,
          trial_group: `group ${group}`,
          trial_index: i,
          scores: { s: mean + (i % 2 === 0 ? 0.05 : -0.05) },
        })),
      );
    const baseline = await experimentOf(space, trials([0.5, 0.5, 0.5]));
    const candidate = await experimentOf(space, trials([0.8, 0.8, 0.4]));
    const body = await compared(space, candidate, baseline, { limit: '2' });
    const comparison = byScorer(body, 's');
    expect(body.totals).toMatchObject({ cases: 3, cases_shared: 3 });
    expect(comparison).toMatchObject({ unit: 'cases', candidate: { count: 3 } });
    expect(comparison.candidate.mean).toBeCloseTo(2 / 3, 12);
    expect([comparison.cases, comparison.improved, comparison.regressed]).toEqual([3, 2, 1]);
    expect(comparison.difference).toBeCloseTo(0.5 / 3, 12);
    // With all signs of 0.3, 0.3 and -0.1, four of eight sums are at least as far from 0 as 0.5. Sixty independent
    // results would have been significant.
    expect(comparison.p_value).toBe(0.5);
    expect(comparison.verdict).toBe('inconclusive');
    // The interval of three cases spans from the regressed case to the improved cases.
    expect(comparison.confidence_interval!.lower).toBeCloseTo(-0.1, 9);
    expect(comparison.confidence_interval!.upper).toBeCloseTo(0.3, 9);
    const [worst] = body.cases.items;
    expect([worst!.trial_group, worst!.candidate_count, worst!.candidate.length]).toEqual([
      'group 2',
      20,
      20,
    ]);
    expect([worst!.case_id, worst!.dataset_record_id]).toEqual(['2 0', null]);
    expect(worst!.candidate.map((one) => one.trial_index)).toEqual([...Array(20).keys()]);
  });

  it('ignores null scores of the trials of a case', async () => {
    const candidate = await experimentOf(space, [
      { case_id: '1', trial_group: 'g', scores: { s: 1 } },
      { case_id: '2', trial_group: 'g', scores: { s: null } },
      { case_id: '3', trial_group: 'g', error: 'crashed' },
      { case_id: 'h', scores: { s: null } },
    ]);
    const baseline = await experimentOf(space, [
      { case_id: 'g', scores: { s: 0.25 } },
      { case_id: 'h', scores: { s: 1 } },
    ]);
    const comparison = byScorer(await compared(space, candidate, baseline), 's');
    // Null and absent scores are missing. Counted as 0, they would lower g to 0.33 and make h a regression.
    expect(comparison).toMatchObject({ difference: 0.75, cases: 1, improved: 1, regressed: 0, missing: 1 });
    expect(comparison.candidate).toMatchObject({ mean: 1, count: 1 });
  });

  it('pairs results by dataset_record_id, else by trial_group, else by case_id', async () => {
    const { dataset_id } = await space.dataset();
    const [r1, r2] = [await space.record(dataset_id), await space.record(dataset_id)];
    const record = (one: { dataset_record_id: string }) => ({ dataset_record_id: one.dataset_record_id });
    // the same group for all cases, such as the name of a batch, does not merge them
    const group = { trial_group: 'nightly' };
    const baseline = await experimentOf(
      space,
      [
        { case_id: 'a', ...group, ...record(r1), scores: { s: 0.1 } },
        { case_id: 'b', ...group, ...record(r2), scores: { s: 0.2 } },
        { case_id: 'c', ...record(r1), scores: { s: 0.3 } },
      ],
      { dataset_id },
    );
    const candidate = await experimentOf(
      space,
      [
        { case_id: 'c', ...group, ...record(r1), scores: { s: 0.7 } },
        { case_id: 'y', ...record(r2), scores: { s: 0.4 } },
      ],
      { dataset_id },
    );
    const { items } = (await compared(space, candidate, baseline, { sort: '-difference' })).cases;
    expect(
      items.map((one) => [one.dataset_record_id, one.case_id, one.baseline.map(({ case_id }) => case_id)]),
    ).toEqual([
      [r1.dataset_record_id, 'c', ['a', 'c']],
      [r2.dataset_record_id, 'y', ['b']],
    ]);
    const grouped = async (score: number, ...ids: string[]) =>
      experimentOf(
        space,
        ids.map((case_id) => ({ case_id, trial_group: 'g', scores: { s: score } })),
      );
    const trials = await compared(space, await grouped(1, '1', '2'), await grouped(0, '3'));
    expect(trials.cases.items).toMatchObject([{ case_id: '1', trial_group: 'g', difference: 1 }]);
    const plain = await compared(
      space,
      await experimentOf(space, scored('s', [1])),
      await experimentOf(space, scored('s', [0])),
    );
    expect(plain.cases.items.map((one) => [one.case_id, one.trial_group])).toEqual([['case 0', null]]);
  });

  it('does not pair records with the rows of a CSV version that have the same ids', async () => {
    const { dataset_id } = await space.dataset();
    await uploadVersion(space, dataset_id, 'id,input\nq1,a\n');
    const record = await space.record(dataset_id, { external_id: 'q1', input: 'another question' });
    const { dataset_record_id } = record;
    const candidate = await experimentOf(space, [{ case_id: 'q1', dataset_record_id, scores: { s: 1 } }], {
      dataset_id,
    });
    const csv = { dataset_id, dataset_version: 1 };
    const baseline = await experimentOf(space, [{ case_id: 'q1', scores: { s: 0 } }], csv);
    const body = await compared(space, candidate, baseline);
    expect(body.totals).toMatchObject({ cases: 2, cases_shared: 0, cases_only_in_candidate: 1 });
    expect(byScorer(body, 's')).toMatchObject({ difference: null, verdict: 'inconclusive' });
  });
});
