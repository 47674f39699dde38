import type { GateResult } from '../api/types.cjs';
import { Ending, metricsOf } from './finish.js';
import { scoreHosted } from './hosted-scoring.js';
import { messageOf } from './json.js';
import type { RunOutcome, RunSetup } from './run.js';
import { EvalSummary, type EvalStatus, plural, sentence, type SummaryFields } from './summary.js';

/** What is known at the end of a run. */
export interface Conclusion extends Omit<RunSetup, 'reporter' | 'isNew' | 'versions'> {
  /** Null if the experiment was completed before the run began. */
  outcome: RunOutcome | null;
  /** The run key that the options or the CI name. */
  named: string | null;
  startedAt: number;
  isResumed: boolean;
  problems: string[];
}

const NOTHING_DONE: RunOutcome = {
  failure: null,
  isFrozen: false,
  called: 0,
  finished: 0,
  failed: 0,
  uploads: { stored: 0, alreadyStored: 0, refused: 0, discarded: 0 },
  refusals: [],
  traces: { sent: 0, missing: 0 },
  traceProblem: null,
};

/**
 * Ends a run: has the service score the results, completes the experiment, checks the gate, and returns the summary. If
 * anything is missing, the experiment stays open, and the summary says `incomplete`.
 */
export async function conclude(given: Conclusion): Promise<EvalSummary> {
  const { client, options, experiment, problems, outcome } = given;
  const { failure, isFrozen, called, finished, failed } = outcome ?? NOTHING_DONE;
  const total = experiment.expected_case_count ?? 0;
  const fields = fieldsOf(given);
  const ending = new Ending(client, experiment.experiment_id, options, {
    retryForMs: options.retryForMs ?? 300_000,
    ...(options.signal && { signal: options.signal }),
  });
  const stopEarly = (reason: unknown): void => {
    problems.push(`The run ended early: ${sentence(messageOf(reason))} ${startAgain(given)} to continue.`);
    const pending = Math.max(0, (experiment.expected_result_count ?? 0) - finished);
    fields.cases = { total, failed, pending, done: Math.max(0, total - failed - pending), called };
    fields.status = 'incomplete';
  };
  if (failure !== null) {
    stopEarly(failure);
    return new EvalSummary(fields);
  }
  try {
    fields.cases = { ...(await ending.countCases(total)), called };
    const isEnded = outcome === null || isFrozen;
    const status = isEnded ? 'completed' : await end(given, ending, fields);
    if (status === 'completed') {
      fields.gate ??= await ending.check();
      fields.status = statusOf(fields.gate);
    }
    await describe(ending, fields);
  } catch (error) {
    stopEarly(error);
  }
  return new EvalSummary(fields);
}

/** Adds scores, regressions and failures. The run has its result without them, too. */
async function describe(ending: Ending, fields: SummaryFields): Promise<void> {
  try {
    const comparison = await ending.compare();
    fields.scores = await ending.scores(fields.gate, comparison);
    fields.regressions = await ending.regressions(comparison);
    if (fields.cases.failed > 0) fields.failures = await ending.failures();
  } catch (error) {
    fields.problems.push(`The summary lacks scores or comparisons: ${messageOf(error)}`);
  }
}

/** Scores and completes the experiment, unless something is missing. Returns whether it is complete. */
async function end(
  given: Conclusion,
  ending: Ending,
  fields: SummaryFields,
): Promise<'completed' | 'incomplete'> {
  const { client, options, experiment, scorers, named, problems, startedAt } = given;
  const { cases } = fields;
  if (cases.pending > 0) {
    const pending = `${plural(cases.pending, 'case')} of ${cases.total}`;
    problems.push(`Results are missing for ${pending}. ${startAgain(given)} to continue.`);
    return 'incomplete';
  }
  const requests = {
    retryForMs: options.retryForMs ?? 300_000,
    ...(options.signal && { signal: options.signal }),
  };
  const unscored = await scoreHosted(client, experiment.experiment_id, scorers.hosted, requests);
  if (unscored.length > 0) {
    problems.push(...unscored.map((reason) => `${reason} ${startAgain(given)} to score them.`));
    return 'incomplete';
  }
  if (cases.failed > 0 && named !== null) {
    fields.gate = await ending.check();
    if (fields.gate?.passed === false) {
      problems.push(
        `The experiment stays open. ${startAgain(given)} to repeat its failed cases (${cases.failed}).`,
      );
      return 'completed';
    }
  }
  fields.durationMs = Date.now() - startedAt;
  if (!(await ending.complete(metricsOf(fields)))) problems.push('Another job completed the experiment.');
  return 'completed';
}

/** Says how to continue the run. One with `resume: false` continues only by its key. */
const startAgain = ({ options, spool }: Conclusion): string =>
  options.resume === false
    ? `Start the run again with the run key ${spool.runKey}, without resume: false (--fresh),`
    : 'Start the run again';

const statusOf = (gate: GateResult | null): EvalStatus =>
  gate === null ? 'completed' : gate.passed ? 'passed' : 'failed';

function fieldsOf({
  options,
  experiment,
  spool,
  problems,
  outcome,
  isResumed,
  startedAt,
}: Conclusion): SummaryFields {
  const { uploads, refusals, traces, traceProblem, isFrozen, called } = outcome ?? NOTHING_DONE;
  if (isFrozen)
    problems.push(`Another job completed the experiment. ${uploads.discarded} results were discarded.`);
  for (const refusal of refusals) problems.push(`The service refused a result: ${refusal}`);
  if (traces.missing > 0) problems.push(`Missing ${plural(traces.missing, 'trace')}: ${traceProblem}`);
  if (spool.problem !== null) {
    problems.push(
      `Finished calls were not kept in ${options.spoolDir ?? '.agent-registry'}: ${spool.problem}`,
    );
  }
  return {
    status: 'incomplete',
    name: experiment.name,
    experimentName: experiment.experiment_name,
    experimentId: experiment.experiment_id,
    datasetId: experiment.dataset_id,
    runKey: spool.runKey,
    resumed: isResumed,
    cases: { total: 0, done: 0, failed: 0, pending: 0, called },
    scores: {},
    gate: null,
    regressions: [],
    failures: [],
    uploads,
    traces,
    durationMs: Date.now() - startedAt,
    problems,
  };
}
