import type { GateResult } from '../api/types.cjs';
import { ExperimentReader, metricsOf } from './experiment-reader.js';
import { scoreHosted } from './hosted-scoring.js';
import { messageOf } from './json.js';
import type { RunOutcome, RunSetup } from './run.js';
import { EvalSummary, type EvalStatus, plural, sentence, type SummaryFields } from './summary.js';

/** What is known at the end of a run. */
export interface Conclusion extends Omit<RunSetup, 'reporter' | 'isNew' | 'kept'> {
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
  endedAs: null,
  called: 0,
  finished: 0,
  failed: 0,
  uploads: { stored: 0, alreadyStored: 0, refused: 0, discarded: 0 },
  refusals: [],
  traces: { sent: 0, missing: 0 },
  traceProblem: null,
};

/** How the cases of a run that ended early are counted: the service may be away. */
const BRIEFLY = { timeoutMs: 10_000, maxRetries: 0 };

/**
 * Ends a run: has the service score the results, completes the experiment, checks the gate, and returns the summary. If
 * anything is missing, the summary says `incomplete`, and the experiment stays open.
 */
export async function conclude(given: Conclusion): Promise<EvalSummary> {
  const { client, options, requests, experiment, problems } = given;
  const outcome = given.outcome ?? NOTHING_DONE;
  const { failure, called } = outcome;
  const { experiment_id, expected_case_count, trials } = experiment;
  const total = expected_case_count ?? 0;
  const fields = fieldsOf(given);
  const reader = new ExperimentReader(client, experiment_id, options, requests);
  const stopEarly = async (reason: unknown): Promise<void> => {
    problems.push(`The run ended early: ${sentence(messageOf(reason))} ${startAgain(given)} to continue.`);
    // without the signal of the user, which has been aborted
    const counted = new ExperimentReader(client, experiment_id, options, BRIEFLY).countCases(total);
    fields.cases = { ...(await counted.catch(() => estimateCases(outcome, total, trials))), called };
    fields.status = 'incomplete';
  };
  if (failure !== null) {
    await stopEarly(failure);
    return new EvalSummary(fields);
  }
  try {
    fields.cases = { ...(await reader.countCases(total)), called };
    const endedAs = given.outcome === null ? 'completed' : outcome.endedAs;
    const status = endedAs ? checkEnded(endedAs, fields) : await complete(given, reader, fields);
    if (status === 'completed') {
      fields.gate ??= await reader.check();
      fields.status = statusOf(fields.gate);
      if (fields.gate === null && fields.cases.failed > 0)
        problems.push(
          'Cases failed, but the run passes because there is no gate. Add one, such as [{ max_error_rate: 0 }].',
        );
    }
    if (endedAs !== 'failed') await describe(reader, fields);
  } catch (error) {
    await stopEarly(error);
  }
  return new EvalSummary(fields);
}

/** Counts cases as far as this process knows them. Trials are taken for complete where possible. */
function estimateCases({ finished, failed }: RunOutcome, total: number, trials: number) {
  const done = Math.min(total, Math.floor((finished - failed) / trials));
  const failedCases = Math.min(failed, total - done);
  return { total, done, failed: failedCases, pending: total - done - failedCases };
}

/** Returns whether an experiment that takes no more results has all of them. */
function checkEnded(
  endedAs: 'completed' | 'failed',
  { cases: { total, pending }, problems }: SummaryFields,
): 'completed' | 'incomplete' {
  if (endedAs === 'failed') {
    problems.push('A failed experiment cannot be continued. Start it again for a new run.');
    return 'incomplete';
  }
  if (pending === 0) return 'completed';
  problems.push(
    `The experiment was completed although ${pending} of ${total} cases lack a result. ` +
      'To run them, use another runKey, or resume: false.',
  );
  return 'incomplete';
}

/** Adds scores, regressions and failures. The run has its result without them, too. */
async function describe(reader: ExperimentReader, fields: SummaryFields): Promise<void> {
  try {
    const comparison = await reader.compare();
    fields.scores = await reader.scores(fields.gate, comparison);
    fields.regressions = await reader.regressions(comparison);
    fields.lowest = await reader.lowest(fields);
    if (fields.cases.failed > 0) fields.failures = await reader.failures();
  } catch (error) {
    fields.problems.push(`The summary lacks scores or comparisons: ${messageOf(error)}`);
  }
}

/** Scores and completes the experiment, unless something is missing. Returns whether it is complete. */
async function complete(
  given: Conclusion,
  reader: ExperimentReader,
  fields: SummaryFields,
): Promise<'completed' | 'incomplete'> {
  const { client, requests, experiment, scorers, named, problems, startedAt } = given;
  const { cases } = fields;
  if (cases.pending > 0) {
    const pending = `${plural(cases.pending, 'case')} of ${cases.total}`;
    problems.push(`Results are missing for ${pending}. ${startAgain(given)} to continue.`);
    return 'incomplete';
  }
  const unscored = await scoreHosted(client, experiment.experiment_id, scorers.hosted, requests);
  if (unscored.length > 0) {
    problems.push(...unscored.map((reason) => `${reason} ${startAgain(given)} to score them.`));
    return 'incomplete';
  }
  if (cases.failed > 0 && named !== null) {
    fields.gate = await reader.check();
    if (fields.gate?.passed === false) {
      problems.push(
        `The experiment stays open. ${startAgain(given)} to repeat its failed cases (${cases.failed}).`,
      );
      return 'completed';
    }
  }
  fields.durationMs = Date.now() - startedAt;
  const endedAs = await reader.complete(metricsOf(fields));
  if (endedAs === null) return 'completed';
  problems.push(ENDED[endedAs]);
  return checkEnded(endedAs, fields);
}

/** Says how to continue the run. With `resume: false` it would begin again. */
const startAgain = ({ options, named, spool }: Conclusion): string => {
  if (options.resume !== false) return 'Start the run again';
  const key = named === null ? ` with the run key ${spool.runKey},` : '';
  return `Start the run again${key} without resume: false (--fresh)`;
};

const ENDED = {
  completed: 'Another job completed the experiment.',
  failed: 'Another job marked the experiment as failed.',
} as const;

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
  const { uploads, refusals, traces, traceProblem, endedAs, called } = outcome ?? NOTHING_DONE;
  if (endedAs !== null) problems.push(`${ENDED[endedAs]} Discarded ${plural(uploads.discarded, 'result')}.`);
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
    lowest: [],
    failures: [],
    uploads,
    traces,
    durationMs: Date.now() - startedAt,
    problems,
  };
}
