import type { GateCheck, GateResult } from '../api/types.cjs';
import type { Failure } from './failures.js';
import type { LowScore } from './lowest.js';

/** The scores of one scorer. */
export interface ScoreSummary {
  mean: number;
  /** Number of results with a score. */
  count: number;
  /** 95% confidence interval of the mean, if a `confident` rule of the gate asks for it. */
  interval: Interval | null;
  /** How the mean differs from that of the baseline, if there is one. */
  change: {
    baselineMean: number | null;
    /** Mean difference over the cases with scores on both sides. */
    difference: number | null;
    /** 95% confidence interval of the difference. */
    interval: Interval | null;
    verdict: 'improved' | 'regressed' | 'inconclusive' | 'not_comparable';
    /** Why the scores are not comparable. */
    reason: string | null;
  } | null;
}

export interface Interval {
  lower: number;
  upper: number;
}

/** A case with a lower score than in the baseline. */
export interface Regression {
  scorer: string;
  caseId: string;
  /** Negative: by how much the score dropped, the mean of its trials. */
  difference: number;
  input: unknown;
  expected: unknown;
  /** Output of the first trial. */
  output: unknown;
  baselineOutput: unknown;
}

/** What became of the results of a run. */
export interface UploadCounts {
  /** Stored by this process. */
  stored: number;
  /** The service had them already. */
  alreadyStored: number;
  /** The service refused them. Most are stored as an error instead. */
  refused: number;
  /** Not needed any more, because another job has completed the experiment. */
  discarded: number;
}

/**
 * - `passed` or `failed`: what the gate decided
 * - `completed`: all cases have a result, and there is no gate
 * - `incomplete`: results are missing; run it again to continue
 */
export type EvalStatus = 'passed' | 'failed' | 'completed' | 'incomplete';

/** What an eval ended with, as data. */
export type SummaryFields = {
  -readonly [Member in Exclude<keyof EvalSummary, 'passed' | 'toString'>]: EvalSummary[Member];
};

/** What an eval ended with. Its text is the table that a terminal shows. */
export class EvalSummary {
  readonly status!: EvalStatus;
  readonly name!: string;
  readonly experimentName!: string;
  readonly experimentId!: string;
  readonly datasetId!: string | null;
  readonly runKey!: string;
  /** Whether the run continued one that began before. */
  readonly resumed!: boolean;
  readonly cases!: {
    total: number;
    done: number;
    /** Cases with a result that has an error. */
    failed: number;
    pending: number;
    /** Calls of the task in this process that have ended. */
    called: number;
  };
  /** By the name of the scorer. */
  readonly scores!: Record<string, ScoreSummary>;
  /** Null without a gate, and for an incomplete run. */
  readonly gate!: GateResult | null;
  /** The worst cases of each scorer, at most 20 of each. */
  readonly regressions!: Regression[];
  /** The 5 lowest scores of each scorer whose check failed; without a gate, of each scorer. Good scores are left out. */
  readonly lowest!: LowScore[];
  /** The most frequent errors, at most 20, of the first 1,000 failed results. */
  readonly failures!: Failure[];
  readonly uploads!: UploadCounts;
  readonly traces!: { sent: number; missing: number };
  readonly durationMs!: number;
  /** What happened that you should know, in plain English. */
  readonly problems!: string[];
  /** Whether the gate passed; without a gate, whether the run is complete. */
  readonly passed: boolean;

  constructor(fields: SummaryFields) {
    Object.assign(this, fields);
    this.passed = fields.status === 'passed' || fields.status === 'completed';
  }

  /** Returns the result as text: regressions first, then failures, scores, the gate and notes. */
  toString(): string {
    const { total, done, failed, pending, called } = this.cases;
    return [
      `${this.name}: ${this.status}`,
      ...section('Regressions', this.regressions.map(regressionLine)),
      ...section('Lowest scores', this.lowest.map(lowestLine)),
      ...section('Failed cases', this.failureLines()),
      ...section('Scores', scoreLines(this.scores)),
      ...section('Gate', (this.gate?.checks ?? []).map(checkLine)),
      ...section('Notes', this.problems),
      `${plural(total, 'case')}: ${done} done, ${failed} failed, ${pending} pending. Calls of the task: ${called}. ` +
        `Time: ${seconds(this.durationMs)}.`,
      `Experiment ${this.experimentId}${this.resumed ? ', continued' : ''}`,
    ].join('\n');
  }

  private failureLines(): string[] {
    const lines = this.failures.map(({ caseId, input, error, count }) => {
      const others = count > 1 ? ` and ${count - 1} more` : '';
      return `${short(caseId)}${others}  ${snippet(input)}  ${short(error)}`;
    });
    const shown = this.failures.reduce((sum, { count }) => sum + count, 0);
    return shown > 0 && shown < this.cases.failed
      ? [...lines, `and ${this.cases.failed - shown} more`]
      : lines;
  }
}

const lowestLine = ({ scorer, caseId, score, input, expected, output }: LowScore): string => {
  const [question, answer, right] = [input, output, expected].map((value) => snippet(value));
  return `${short(caseId)}  ${scorer} ${number(score)}  ${question} -> ${answer}${expected == null ? '' : `, expected ${right}`}`;
};

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length > 0 ? [`${title}:`, ...lines.map((line) => `  ${line}`)] : [];

const regressionLine = ({ scorer, caseId, difference, output }: Regression): string =>
  `${short(caseId)}  ${scorer} ${signed(difference)}  ${snippet(output, 120)}`;

const checkLine = (check: GateCheck): string =>
  `${check.status.padEnd(7)} ${titleOf(check)}: ${check.reason}`;

/** Names a check by its rule, such as `exact min_mean 0.9`. The bounds of regressions have the opposite sign. */
export function titleOf({ scorer, kind, bound, confident }: GateCheck): string {
  const value = kind === 'max_regression' || kind === 'max_case_regression' ? -bound : bound;
  return [scorer, kind, number(value), confident && '(confident)'].filter(Boolean).join(' ');
}

function scoreLines(scores: SummaryFields['scores']): string[] {
  const rows = Object.entries(scores).map(([name, { mean, count, interval, change }]) => [
    name,
    `${number(mean)}${interval ? ` (${range(interval)})` : ''}`,
    String(count),
    change?.baselineMean == null ? '' : number(change.baselineMean),
    change ? changeText(change) : '',
  ]);
  if (rows.length === 0) return [];
  return table([['scorer', 'mean', 'results', 'baseline', 'change'], ...rows]);
}

function changeText({ difference, interval, verdict, reason }: NonNullable<ScoreSummary['change']>): string {
  if (difference === null) return reason ?? verdict;
  return `${signed(difference)}${interval ? ` (${range(interval)})` : ''} ${verdict}`;
}

function table(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const used = widths.map((_, column) => rows.slice(1).some((row) => row[column] !== ''));
  return rows.map((row) =>
    row
      .flatMap((cell, column) => (used[column] ? cell.padEnd(widths[column]!) : []))
      .join('  ')
      .trimEnd(),
  );
}

const number = (value: number): string => String(Math.round(value * 10_000) / 10_000);
const signed = (value: number): string => `${value > 0 ? '+' : ''}${number(value)}`;
const range = ({ lower, upper }: Interval): string => `${number(lower)} to ${number(upper)}`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Returns a number with its noun, such as `1 case` or `2 cases`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Returns a text that ends with a full stop or another mark. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** Returns the start of a value as JSON on one line. */
export const snippet = (value: unknown, length = 50): string => short(JSON.stringify(value) ?? '', length);

const short = (text: string, length = 120): string => {
  const line = text.replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
};
