import { gateMatchers } from '#client/vitest';

expect.extend(gateMatchers);

const CHECK = { kind: 'min_mean', scorer: 'exact', bound: 0.9, status: 'failed', reason: 'The mean is 0.5.' };

/** The members of a summary that the matchers read. */
const summaryOf = (members: object): object => ({
  status: 'failed',
  experimentId: 'exp_1',
  cases: { total: 4, done: 4, failed: 0, pending: 0, called: 4 },
  failures: [],
  scores: { exact: { mean: 0.5, count: 4 } },
  gate: { checks: [CHECK, { ...CHECK, kind: 'min_count', status: 'passed', reason: 'There are 4.' }] },
  regressions: [
    { scorer: 'exact', caseId: 'q7', difference: -1 },
    { scorer: 'tone', caseId: 'q9', difference: -0.5 },
  ],
  problems: [],
  ...members,
});

/** The message of a failed expectation. */
function failureOf(expectation: () => void): string {
  try {
    expectation();
  } catch (error) {
    return (error as Error).message;
  }
  return 'passed';
}

describe('toPassGate', () => {
  it('passes for a summary whose gate passed', () => {
    expect(summaryOf({ status: 'passed' })).toPassGate();
    expect(summaryOf({})).not.toPassGate();
  });

  it('names the failed checks, the regressed cases and the experiment', () => {
    const message = failureOf(() => expect(summaryOf({})).toPassGate());
    expect(message).toContain('exact, min_mean: The mean is 0.5.');
    expect(message).not.toContain('There are 4.');
    expect(message).toContain('q7: exact -1');
    expect(message).toContain('exp_1');
  });

  it('fails for an incomplete run, and says why', () => {
    const summary = summaryOf({ status: 'incomplete', gate: null, problems: ['2 cases have no result.'] });
    expect(failureOf(() => expect(summary).toPassGate())).toContain('2 cases have no result.');
  });

  it.each([
    ['a summary without a gate', summaryOf({ status: 'completed', gate: null }), 'has no gate'],
    ['something else', { passed: true }, 'expect(await evaluate('],
    ['a promise', Promise.resolve(summaryOf({})), 'expect(await evaluate('],
  ])('refuses %s, also with `not`', (_title, received, message) => {
    expect(failureOf(() => expect(received).toPassGate())).toContain(message);
    expect(failureOf(() => expect(received).not.toPassGate())).toContain(message);
  });
});

describe('toHaveMean', () => {
  it.each([
    [{ atLeast: 0.5 }, true],
    [{ atLeast: 0.51 }, false],
    [{ atMost: 0.5 }, true],
    [{ atLeast: 0.1, atMost: 0.4 }, false],
  ])('compares the mean with %j', (bounds, isWithin) => {
    if (isWithin) expect(summaryOf({})).toHaveMean('exact', bounds);
    else expect(summaryOf({})).not.toHaveMean('exact', bounds);
  });

  it('names the mean, the bounds and the cases that this scorer finds worse', () => {
    const message = failureOf(() => expect(summaryOf({})).toHaveMean('exact', { atLeast: 0.9 }));
    expect(message).toContain('The mean of exact is 0.5 (4 results); expected at least 0.9.');
    expect(message).toContain('q7');
    expect(message).not.toContain('q9');
  });

  it.each([
    ['failed cases', { failed: 9, pending: 0 }, {}, 'of 10 cases, 9 failed and 0 are pending.'],
    ['cases without a result', { failed: 0, pending: 2 }, {}, 'of 10 cases, 0 failed and 2 are pending.'],
    [
      'an incomplete run',
      { failed: 0, pending: 0 },
      { status: 'incomplete', problems: ['judged: 2 results without a score.'] },
      'judged: 2 results without a score.',
    ],
  ])('fails for %s, which the mean leaves out', (_title, counts, members, message) => {
    const summary = summaryOf({
      cases: { total: 10, ...counts },
      scores: { exact: { mean: 1, count: 1 } },
      failures: [{ caseId: 'q3', input: 'x', error: 'Error: no key' }],
      ...members,
    });
    const failure = failureOf(() => expect(summary).toHaveMean('exact', { atLeast: 0.9 }));
    expect(failure).toContain(message);
    expect(failure).toContain('q3: Error: no key');
  });

  it('names the failed cases if none has a score', () => {
    const failures = [{ caseId: 'q3', input: 'x', error: 'Error: no key' }];
    const summary = summaryOf({ cases: { total: 1, failed: 1, pending: 0 }, scores: {}, failures });
    expect(failureOf(() => expect(summary).toHaveMean('exact', { atLeast: 0.9 }))).toContain(
      'q3: Error: no key',
    );
  });

  it('names the scorers that exist if this one has no scores', () => {
    const message = failureOf(() => expect(summaryOf({})).toHaveMean('exakt', { atLeast: 0.9 }));
    expect(message).toContain('Scorers with scores: exact.');
  });
});
