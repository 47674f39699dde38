import type { Check } from '../../definitions/check.forms';
import type { ScoringSubject } from '../subject';
import { codeSeesPart } from './truncation';

const WHOLE = { is_truncated: false, span_count: 1, spans: [{ name: 'a' }] };
const CUT = { is_truncated: true, span_count: 5, spans: [{ name: 'a' }] };
const subjectOf = (members: Partial<ScoringSubject>): ScoringSubject => ({
  ...{ input: 'in', output: 'out', expected: null, metadata: null, trace: null, session: null },
  ...members,
});
const checked = (check: Check, members: Partial<ScoringSubject>): boolean =>
  codeSeesPart({ checks: [check] }, subjectOf(members));

describe('codeSeesPart', () => {
  it.each<[boolean, Check]>([
    [false, { type: 'contains', value: 'the trace and the session' }],
    [false, { type: 'regex', pattern: 'trace|session' }],
    [false, { type: 'equals', name: 'trace', value: 'out' }],
    [false, { type: 'equals', path: 'output.trace', value: 'out' }],
    [false, { type: 'equals', value: { type: 'tool_called' } }],
    [false, { type: 'numeric_range', path: 'trace.span_count', max: 5 }],
    [false, { type: 'max_duration_ms', max: 5 }],
    [true, { type: 'contains', path: 'trace.spans', value: 'x' }],
    [true, { type: 'contains', path: "$['trace']['spans']", value: 'x' }],
    [true, { type: 'equals', expected_path: 'trace' }],
    [true, { type: 'tool_called', tool: 'search' }],
    [true, { type: 'tool_order', tools: ['search'] }],
    [true, { type: 'max_steps', max: 5 }],
  ])('is %s for a cut trace and the check %j', (expected, check) => {
    expect(checked(check, { trace: CUT })).toBe(expected);
    expect(checked(check, { trace: WHOLE })).toBe(false);
  });

  it('looks at the session only for checks of a session', () => {
    const session = { is_truncated: true, trace_count: 9, traces: [WHOLE], messages: [] };
    const steps: Check = { type: 'max_steps', max: 5 };
    expect(checked(steps, { trace: WHOLE, session })).toBe(false);
    expect(checked(steps, { trace: undefined, session })).toBe(true);
    expect(checked({ type: 'contains', path: 'session.messages', value: 'x' }, { session })).toBe(true);
  });

  it('is true for every script as soon as something is cut, because a script can read it by any name', () => {
    const script = { source: 'function score(subject) { return Object.values(subject).length; }' };
    expect(codeSeesPart(script, subjectOf({ trace: CUT }))).toBe(true);
    expect(codeSeesPart(script, subjectOf({ trace: WHOLE, session: CUT }))).toBe(true);
    expect(codeSeesPart(script, subjectOf({ trace: WHOLE }))).toBe(false);
  });
});
