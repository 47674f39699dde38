import { isSampled, sampleFraction, ScoringRuleRunner } from './scoring-rule.runner';

describe('isSampled', () => {
  it.each([
    // int(sha256(id).hexdigest()[:13], 16) / 16 ** 13, by Python
    ['4bf92f3577b34da6a3ce929d0e0e4736', 0.22477405853512122],
    ['00000000000000000000000000000001', 0.8781224839231421],
    ['ses_0', 0.681528389096459],
    ['Sitzung 世界', 0.4295727068983006],
    ['', 0.8894159948913372],
  ])('maps %j to a fixed fraction', (id, fraction) => {
    expect(sampleFraction(id)).toBe(fraction);
    expect(isSampled(id, fraction)).toBe(false);
    expect(isSampled(id, fraction + 1e-12)).toBe(true);
  });

  it('samples about the requested share, whatever the ids look like', () => {
    const many = 20_000;
    for (const form of [(n: number) => n.toString(16).padStart(32, '0'), (n: number) => `session ${n}`]) {
      for (const rate of [0.01, 0.25, 0.5, 0.9]) {
        const count = Array.from({ length: many }, (_, n) => form(n)).filter((id) =>
          isSampled(id, rate),
        ).length;
        // five standard deviations; the ids are fixed, so the test is deterministic
        const tolerance = 5 * Math.sqrt((rate * (1 - rate)) / many);
        expect(Math.abs(count / many - rate)).toBeLessThan(tolerance);
      }
    }
  });

  it('samples everything at 1, nothing at 0, and a superset at a higher rate', () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `ses_${n}`);
    const at = (rate: number) => ids.filter((id) => isSampled(id, rate));
    expect(at(1)).toEqual(ids);
    expect(at(0)).toEqual([]);
    expect(at(0.6)).toEqual(expect.arrayContaining(at(0.3)));
  });
});

describe('a pass over the rules of all organizations', () => {
  afterEach(() => jest.restoreAllMocks());

  const STEP_MS = 200;
  const unused = {} as never;

  /** Runs all passes over rules such as `a1`, each with this many steps of work. Returns the steps in order. */
  async function stepsOf(work: Record<string, number>): Promise<string> {
    const rules = Object.keys(work).map((rule_id) => ({
      ...{ rule_id, org_id: rule_id[0], workspace_id: rule_id[0], is_scorer_live: true, open_runs: 0 },
      ...{ quiet_seconds: 1, grain: 'trace', seen_us: 0, seen_trace_id: '' },
    }));
    const left = { ...work };
    const steps: string[] = [];
    const runner = new ScoringRuleRunner(
      unused,
      {
        listActive: () => Promise.resolve(rules),
        lease: (ids: string[]) => Promise.resolve(new Set(ids)),
      } as never,
      {
        clock: () => Promise.resolve({ settled_us: 1e9, now_us: 1e9 }),
        nonEmptyRanges: (ranges: { rule: { rule_id: string } }[]) =>
          Promise.resolve(ranges.filter(({ rule }) => left[rule.rule_id]! > 0)),
      } as never,
      unused,
      unused,
      unused,
      unused,
      { filterLive: (ids: string[]) => Promise.resolve(new Set(ids)) } as never,
      { stopping: new AbortController().signal } as never,
    );
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(runner, 'step').mockImplementation(({ rule_id }) => {
      now += STEP_MS;
      steps.push(rule_id);
      left[rule_id]!--;
      return Promise.resolve(left[rule_id]! > 0);
    });
    await runner.runDue();
    return steps.join(' ');
  }

  it.each([
    [{ a1: 1, a2: 1, b1: 1 }, 'a1 a2 b1'],
    [{ a1: 2, b1: 3 }, 'a1 b1 a1 b1 b1'],
    // after 500 ms, an organization continues in the next pass
    [{ a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, b1: 2 }, 'a1 a2 a3 b1 a4 a5 b1'],
    // the rules that came first have more work than one step
    [{ a1: 2, a2: 1, a3: 1, a4: 1, b1: 1 }, 'a1 a2 a3 b1 a4 a1'],
  ])('of %j makes the steps %s', async (work, expected) => {
    expect(await stepsOf(work)).toBe(expected);
  });
});
