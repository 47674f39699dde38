import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import type { EvalSummary } from './summary.js';

/** One item of the data: what the task gets, and what scorers compare its output with. */
export interface DataItem<I = unknown, E = unknown> {
  /**
   * Identifies the case across runs, 1 to 255 characters. By default a hash of the input, so that you can add, remove and
   * reorder cases without losing comparisons.
   */
  id?: string;
  /** Any JSON value. */
  input: I;
  /** Any JSON value. */
  expected?: E;
  /** At most 16 KiB as JSON. */
  metadata?: Record<string, unknown>;
  /** At most 100, each of 1 to 255 characters. */
  tags?: readonly string[];
}

/** A dataset of the workspace. */
export interface DatasetData {
  /** Its name, or its id. */
  dataset: string;
  /** A CSV version. Default: the records, or the newest version if the dataset has no records. */
  version?: number | 'latest';
  /** Runs only a part of the cases. `case_ids` needs a CSV version; `label`, `category` and `dataset_record_ids` need records. */
  filter?: {
    tags?: string[];
    label?: string;
    category?: string;
    dataset_record_ids?: string[];
    case_ids?: string[];
  };
}

/** Items, or anything that yields them. A function is called once. */
export type Items<I, E> =
  | Iterable<DataItem<I, E>>
  | AsyncIterable<DataItem<I, E>>
  | (() => Items<I, E> | Promise<Items<I, E>>);

/** Where the cases come from: the path or the URL of a `.csv`, `.jsonl` or `.ndjson` file, items, or a dataset. */
export type Data<I, E> = string | URL | DatasetData | Items<I, E>;

/** What the task gets. */
export interface TaskCase<I = unknown, E = unknown> {
  readonly id: string;
  readonly input: I;
  readonly expected: E;
  readonly metadata: Record<string, unknown>;
  readonly tags: readonly string[];
  /** The number of the trial, from 1. */
  readonly trial: number;
  /** Aborted when the task exceeds its time, and when the run ends early. */
  readonly signal: AbortSignal;
}

/** The agent under test. It returns any JSON value. */
export type Task<I, O, E> = (one: TaskCase<I, E>) => O | Promise<O>;

/** What a scorer returns; null means that it abstains. */
export type Score =
  | number
  | boolean
  | null
  | { score: number | boolean | null; label?: string; comment?: string; metadata?: Record<string, unknown> };

/** What a scorer gets. */
export interface ScorerCase<I = unknown, O = unknown, E = unknown> extends TaskCase<I, E> {
  /** The output as JSON keeps it: dates, for example, are strings. */
  readonly output: O;
}

/** Rates an output. The name of the function is the name of the score. */
export type ScoreFunction<I, O, E> = (one: ScorerCase<I, O, E>) => Score | Promise<Score>;

/** A scorer of the service, see `hosted`. */
export interface HostedScorer {
  readonly hosted: string;
}

/** A function, a function with a name, or a scorer of the service. */
export type Scorer<I, O, E> =
  | ScoreFunction<I, O, E>
  | { readonly name: string; readonly score: ScoreFunction<I, O, E> }
  | HostedScorer;

/** Names a scorer of the service, by its name or id. The service runs it over the results at the end. Needs the role `evaluator`. */
export const hosted = (scorer: string): HostedScorer => ({ hosted: scorer });

/** One rule of a gate. The operation `checkGate` of the API reference describes the members. */
export interface GateRule {
  scorer?: string;
  min_mean?: number;
  max_regression?: number;
  min_count?: number;
  min_coverage?: number;
  max_regressed_cases?: number;
  max_case_regression?: number;
  min_pass_at_k?: { k: number; value: number; threshold?: number };
  min_pass_hat_k?: { k: number; value: number; threshold?: number };
  max_error_rate?: number;
  max_p95_duration_ms?: number;
  max_mean_cost_usd?: number;
  confident?: boolean;
}

/** Rules, or rules with the options of the whole gate. */
export type Gate =
  | readonly GateRule[]
  | {
      rules: readonly GateRule[];
      require_baseline?: boolean;
      allow_version_mismatch?: boolean;
      min_comparable?: number;
    };

/** Where a run stands. */
export interface EvalProgress {
  experimentId: string;
  /** Number of results that the run needs: cases times trials. */
  total: number;
  /** Results that are finished, with the successful ones of earlier attempts. */
  finished: number;
  /** Those of this attempt that have an error. */
  failed: number;
  /** Finished results that are not uploaded yet. */
  waiting: number;
}

// Without an annotation, `input` must be usable: its type is not known if the data is a file.
// oxlint-disable-next-line typescript/no-explicit-any
export interface EvaluateOptions<I = any, O = any, E = any> {
  /** The stable name of the evaluation, 1 to 255 characters. Comparisons find earlier runs by it. */
  name: string;
  data: Data<I, E>;
  task: Task<I, O, E>;
  scorers?: readonly Scorer<I, O, E>[];
  /** Rules that decide whether the run passes. */
  gate?: Gate;
  /** How often each case is run, 1 to 100. Default 1. */
  trials?: number;
  /** How many cases run at a time. Default 1. */
  concurrency?: number;
  /** What is evaluated. */
  subject?: { kind: 'agent' | 'harness' | 'skill'; id: string };
  /** Settings of the agent under test, such as its model. A run resumes only with the same ones. */
  config?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  tags?: readonly string[];
  /** Id of the completed experiment to compare with. Default: the promoted baseline of the dataset for this name. */
  baseline?: string;
  /** Name of this experiment. Default: `name`. */
  experimentName?: string;
  /** Name of the dataset that holds the items or the CSV versions. Default: `name`. */
  dataset?: string;
  /** The CSV column with the ids of the cases. Default: `case_id`, else `id`, else the number of the row. */
  caseIdColumn?: string;
  /** Maps columns of a CSV file to the parts of a case. */
  mapping?: Partial<Record<'input' | 'expected' | 'metadata' | 'tags', string | string[]>>;
  /**
   * Identifies the run: a later one with the same key continues it, and does not repeat its calls. Default: the commit that
   * the CI names; else a random key that lasts until the run has ended.
   */
  runKey?: string;
  /**
   * False starts a new run even if there is one to continue. The earlier run of the same key is marked as failed, or archived
   * if it was completed. Default true.
   */
  resume?: boolean;
  /** How often a call of the task that failed is made again at once. Default 0. */
  retries?: number;
  /** Time for one call of the task, in milliseconds. Default 10 minutes. Does not end a task that blocks the thread. */
  timeoutMs?: number;
  /** Time for one call of a scorer, in milliseconds. Default 1 minute. */
  scorerTimeoutMs?: number;
  /** How long requests are retried while the service is away, in milliseconds. Default 5 minutes. */
  retryForMs?: number;
  client?: Client;
  /** Ends the run early. The next one continues it. */
  signal?: AbortSignal;
  onProgress?: (progress: EvalProgress) => void;
  /**
   * Whether to print progress and the result and to set the exit status. `auto`, the default, does so unless the run is part
   * of a test of vitest or jest. With `onProgress` it only sets the exit status.
   */
  report?: boolean | 'auto';
  /** Directory of the spool, which keeps finished calls until they are uploaded. Default `.agent-registry`. */
  spoolDir?: string;
}

/**
 * What the command `agent-registry eval run` adds to the runs of a file, on `globalThis[Symbol.for('agent-registry.run')]`.
 */
export interface EvalRun {
  /** Options that take precedence over those in the file. */
  options?: Partial<Pick<EvaluateOptions, 'runKey' | 'resume' | 'concurrency' | 'signal'>>;
  onProgress?: (name: string, progress: EvalProgress) => void;
  /** Called by each run when it starts, so that the command waits for it even if the file does not. */
  started?: (name: string, summary: Promise<EvalSummary>) => void;
}

/** Returns the command that runs this file, if one does. */
export const commandRun = (): EvalRun | undefined =>
  (globalThis as { [key: symbol]: EvalRun | undefined })[Symbol.for('agent-registry.run')];

/** Returns the options with those of the command. The signals of both end the run. */
export function withCommand(given: EvaluateOptions): EvaluateOptions {
  const options = { ...given, ...commandRun()?.options };
  if (given.signal && options.signal && given.signal !== options.signal)
    options.signal = AbortSignal.any([given.signal, options.signal]);
  return options;
}

/** Environment variables in which CI systems name the commit. */
const COMMIT_VARIABLES = [
  'GITHUB_SHA',
  'CI_COMMIT_SHA',
  'BUILDKITE_COMMIT',
  'CIRCLE_SHA1',
  'BITBUCKET_COMMIT',
  'BUILD_SOURCEVERSION',
  'GIT_COMMIT',
  'COMMIT_SHA',
];

/** Returns the run key that the options or the CI name, or null. */
export function namedRunKey({ runKey }: Pick<EvaluateOptions, 'runKey'>): string | null {
  if (runKey !== undefined) return runKey;
  if (typeof process === 'undefined') return null;
  for (const variable of COMMIT_VARIABLES) {
    const commit = process.env[variable]?.trim();
    if (commit) return commit;
  }
  return null;
}

/** How a run makes its requests: until its signal, and as long as the options say. */
export type RunRequests = RequestOptions & { signal: AbortSignal; retryForMs: number };
