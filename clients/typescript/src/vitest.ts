import { type EvalSummary, plural } from './evaluate/summary.js';

/** Bounds of a mean. */
export interface MeanBounds {
  atLeast?: number;
  atMost?: number;
}

/** The matchers that `expect` gets from this module. */
export interface GateMatchers<R = unknown> {
  /**
   * Passes if the gate of an evaluation passed. The message of a failure has the failed checks and the cases that are worse
   * than in the baseline. An incomplete run fails.
   */
  toPassGate(): R;
  /**
   * Passes if the mean of a scorer is within the bounds, such as `{ atLeast: 0.9 }`. Fails if cases failed or have no result,
   * because the mean leaves them out.
   */
  toHaveMean(scorer: string, bounds: MeanBounds): R;
}

declare global {
  namespace jest {
    interface Matchers<R, T = {}> extends GateMatchers<R> {}
  }
}

// An augmentation of a missing module is an error. @ts-expect-error would be one where the module is installed.
// oxlint-disable-next-line typescript/ban-ts-comment
/** @ts-ignore vitest may not be installed */
declare module 'vitest' {
  // oxlint-disable-next-line typescript/no-explicit-any -- type parameters must be those of vitest
  interface Assertion<T = any> extends GateMatchers<void> {}
}

// oxlint-disable-next-line typescript/ban-ts-comment
/** @ts-ignore jest may not be installed */
declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends GateMatchers<R> {}
}

interface Outcome {
  pass: boolean;
  message: () => string;
}

/** The implementations, for `expect.extend(gateMatchers)`. */
export const gateMatchers = {
  toPassGate(received: unknown): Outcome {
    const summary = asSummary(received);
    if (!summary.gate && summary.status !== 'incomplete')
      throw new TypeError('The evaluation has no gate. Pass `gate` to evaluate().');
    return {
      pass: summary.status === 'passed',
      message: () => [`The gate ${WORDS[summary.status]}.`, ...detailsOf(summary)].join('\n'),
    };
  },
  toHaveMean(received: unknown, scorer: string, bounds: MeanBounds): Outcome {
    const summary = asSummary(received);
    const { atLeast, atMost } = bounds;
    if (atLeast === undefined && atMost === undefined) throw new TypeError('Pass atLeast or atMost.');
    const missing = missingOf(summary);
    const score = summary.scores[scorer];
    if (!score) {
      const names = Object.keys(summary.scores).join(', ') || 'none';
      throw new TypeError(
        [`There are no scores of ${scorer}. Scorers with scores: ${names}.`, ...missing].join('\n'),
      );
    }
    const { mean, count } = score;
    return {
      pass: missing.length === 0 && mean >= (atLeast ?? -Infinity) && mean <= (atMost ?? Infinity),
      message: () =>
        [
          `The mean of ${scorer} is ${mean} (${plural(count, 'result')}); expected ${textOf(bounds)}.`,
          ...missing,
          ...regressionsOf(summary, scorer),
        ].join('\n'),
    };
  },
};

const WORDS: Record<EvalSummary['status'], string> = {
  passed: 'passed',
  completed: 'was not checked',
  failed: 'failed',
  incomplete: 'was not checked, because the run is incomplete',
};

const textOf = ({ atLeast, atMost }: MeanBounds): string =>
  [atLeast !== undefined && `at least ${atLeast}`, atMost !== undefined && `at most ${atMost}`]
    .filter(Boolean)
    .join(' and ');

/** Returns what a mean leaves out: failed cases, and those of an incomplete run. */
function missingOf({ status, cases: { total, failed, pending }, failures, problems }: EvalSummary): string[] {
  if (failed + pending === 0 && status !== 'incomplete') return [];
  return [
    `The mean leaves out results: of ${plural(total, 'case')}, ${failed} failed and ${pending} are pending.`,
    ...failures.map(({ caseId, error }) => `  ${caseId}: ${error}`),
    ...(status === 'incomplete' ? problems.map((problem) => `  ${problem}`) : []),
  ];
}

function detailsOf(summary: EvalSummary): string[] {
  const failed = (summary.gate?.checks ?? []).filter(({ status }) => status === 'failed');
  return [
    ...failed.map(({ scorer, kind, reason }) => `  ${scorer ?? 'all cases'}, ${kind}: ${reason}`),
    ...regressionsOf(summary),
    ...(summary.status === 'incomplete' ? summary.problems.map((problem) => `  ${problem}`) : []),
    `Experiment ${summary.experimentId}`,
  ];
}

function regressionsOf({ regressions }: EvalSummary, scorer?: string): string[] {
  const own = regressions.filter((one) => scorer === undefined || one.scorer === scorer);
  if (own.length === 0) return [];
  const lines = own.map((one) => `  ${one.caseId}: ${one.scorer} ${one.difference}`);
  return ['Cases that are worse than in the baseline:', ...lines];
}

function asSummary(received: unknown): EvalSummary {
  if (typeof received === 'object' && received !== null && 'experimentId' in received && 'scores' in received)
    return received as EvalSummary;
  throw new TypeError(
    'This matcher needs the summary that evaluate() returns: expect(await evaluate({ … })).',
  );
}

interface Expect {
  extend?: (matchers: typeof gateMatchers) => void;
}

// Registers the matchers where `expect` is global: in jest, and in vitest with `globals: true`.
(globalThis as { expect?: Expect }).expect?.extend?.(gateMatchers);
