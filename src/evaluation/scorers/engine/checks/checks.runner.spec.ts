import type { ScoreOutcome, ScoringSubject } from '../subject';
import type { Check } from '../../definitions/check.forms';
import type { ChecksDefinition } from '../../definitions/definition.forms';
import { ChecksRunner } from './checks.runner';

const runChecks = (definition: ChecksDefinition, subject: ScoringSubject): ScoreOutcome =>
  new ChecksRunner().score(definition, subject);

describe('ChecksRunner', () => {
  const subject: ScoringSubject = {
    input: null,
    output: 'yes',
    expected: null,
    metadata: null,
    trace: null,
    session: null,
  };
  const pass: Check = { type: 'equals', value: 'yes' };
  const fail: Check = { type: 'contains', value: 'no' };
  const score = (checks: Check[], aggregate: 'all' | 'any' | 'mean'): unknown =>
    (runChecks({ checks, aggregate }, subject) as { score: number }).score;

  it('aggregates by `all`, `any`, or the share that passed (`mean`)', () => {
    expect(score([pass, pass], 'all')).toBe(1);
    expect(score([pass, fail], 'all')).toBe(0);
    expect(score([fail, pass], 'any')).toBe(1);
    expect(score([fail, fail], 'any')).toBe(0);
    expect(score([pass, fail, fail, pass], 'mean')).toBe(0.5);
  });

  it('returns an answer for each check by its name, and explains each failure', () => {
    const checks: Check[] = [pass, fail, { ...fail, name: 'polite' }, { ...pass, name: 'equals_2' }, pass];
    expect(runChecks({ checks, aggregate: 'all' }, subject)).toEqual({
      score: 0,
      reasoning:
        '2 of 5 checks failed. contains: "yes" does not contain "no". polite: "yes" does not contain "no".',
      answers: { equals: true, contains: false, polite: false, equals_2: true, equals_3: true },
    });
    expect(runChecks({ checks: [pass, pass], aggregate: 'all' }, subject)).toMatchObject({
      reasoning: 'All 2 checks passed.',
    });
  });

  it('lists the checks that passed for `any`, or why all failed', () => {
    const checks: Check[] = [fail, { ...pass, name: 'same' }];
    expect(runChecks({ checks, aggregate: 'any' }, subject)).toMatchObject({
      score: 1,
      reasoning: '1 of 2 checks passed: same.',
    });
    expect(runChecks({ checks: [fail], aggregate: 'any' }, subject)).toMatchObject({
      score: 0,
      reasoning: '1 of 1 checks failed. contains: "yes" does not contain "no".',
    });
  });

  it('truncates its reasoning', () => {
    const checks = Array.from({ length: 100 }, (): Check => ({ type: 'equals', value: 'x'.repeat(1_000) }));
    const outcome = runChecks({ checks, aggregate: 'all' }, { ...subject, output: 'y'.repeat(100_000) });
    expect((outcome as { reasoning: string }).reasoning).toHaveLength(2_000);
  });

  it('returns an error if one check lacks its data, even if another passes', () => {
    const checks: Check[] = [pass, { type: 'max_steps', max: 1, name: 'short' }];
    expect(runChecks({ checks, aggregate: 'any' }, subject)).toEqual({ error: 'short: there is no trace' });
  });

  it('accepts names of Object.prototype members', () => {
    const outcome = runChecks({ checks: [{ ...pass, name: '__proto__' }], aggregate: 'all' }, subject);
    expect(Object.entries((outcome as { answers: object }).answers)).toEqual([['__proto__', true]]);
  });

  it('returns an error for values that are nested too deeply', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(
      runChecks(
        { checks: [{ type: 'equals', value: deep }], aggregate: 'all' },
        { ...subject, output: deep },
      ),
    ).toEqual({ error: expect.stringContaining('nested too deeply') });
  });
});
