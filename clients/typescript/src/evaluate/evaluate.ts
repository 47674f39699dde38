import { Client } from '../client.js';
import { withRetries } from '../core/retry.js';
import { checkOptions } from './check-options.js';
import { conclude } from './conclude.js';
import { readData } from './data.js';
import { checkGate } from './experiment-reader.js';
import { explained } from './explain.js';
import { checkHosted } from './hosted-scoring.js';
import { sha256, toJson } from './json.js';
import { commandRun, type EvaluateOptions, namedRunKey, type Scorer, withCommand } from './options.js';
import { reporterOf, writeNotice } from './report.js';
import { openExperiment, RecordsChangedError } from './open-experiment.js';
import { retryNotices } from './retry-notices.js';
import { watchReturns } from './returns.js';
import { Run, type RunSetup } from './run.js';
import { splitScorers } from './scoring.js';
import { Spool, spoolPrefix } from './spool.js';
import { type EvalSummary, plural } from './summary.js';

/**
 * Runs a task over cases, scores its outputs, stores everything as an experiment, and checks the gate. Nothing that has
 * finished is lost or stored twice: a run that was interrupted, even by `kill -9`, continues when you start it again.
 *
 * What a task or a scorer does wrong becomes an `error` of its result. Rejects only if the run cannot begin: for example with a
 * `ServiceError` if the key is invalid, a `ConnectionError` if the service cannot be reached, a `TypeError` for an invalid
 * option or a baseline that is not completed, a `ServiceError` with status 400 for an invalid gate or with 409 if the run to
 * continue has other cases or settings, and the reason of a signal that is aborted before the first call.
 */
// Without an annotation, `input` must be usable: its type is not known if the data is a file.
// oxlint-disable-next-line typescript/no-explicit-any
export function evaluate<I = any, O = any, E = any>(given: EvaluateOptions<I, O, E>): Promise<EvalSummary> {
  const summary = run(given).catch((error: unknown) => {
    throw explained(error);
  });
  commandRun()?.started?.(given.name, summary);
  return summary;
}

async function run(given: EvaluateOptions): Promise<EvalSummary> {
  const options = withCommand(given);
  checkOptions(options);
  const { signal, retryForMs = 300_000 } = options;
  signal?.throwIfAborted();
  const onRetry = retryNotices((notice) => writeNotice(given, notice));
  const requests = { retryForMs, onRetry, ...(signal && { signal }) };
  const startedAt = Date.now();
  const scorers = splitScorers(options.scorers ?? []);
  const reporter = reporterOf(options);
  const client = options.client ?? new Client();
  await checkHosted(client, scorers, requests);
  await checkGate(client, options, requests);
  const named = namedRunKey(options);
  const data = await readData(client, options, requests);
  const { name, experimentName = name, trials = 1, config = null, subject = null } = options;
  const identity = [
    client.url,
    client.workspaceId,
    name,
    experimentName,
    data.digest,
    named,
    trials,
    config,
    subject,
    // a commit names the code, but a run without a key must not go on with other code
    named === null ? [options.task, ...(options.scorers ?? [])].map(sourceOf) : null,
  ];
  const spool = new Spool({
    dir: options.spoolDir ?? '.agent-registry',
    prefix: spoolPrefix(name, await sha256(toJson(identity))),
    runKey: named,
    resume: options.resume ?? true,
  });
  const watched = watchReturns(options.task);
  let hasEnded = false;
  try {
    const opened = await withRetries(() => openExperiment(client, options, spool.runKey, data, requests), {
      ...(signal && { signal }),
      isRetryable: (error) => error instanceof RecordsChangedError,
    });
    const setup = { client, options, requests, scorers, spool, reporter, ...opened };
    const problems = problemsOfStart(setup, named);
    const isCompleted = opened.experiment.experiment_status === 'completed';
    const watchedOptions = { ...options, task: watched.task };
    const outcome = isCompleted ? null : await new Run({ ...setup, options: watchedOptions }).runCases();
    problems.push(...watched.problems());
    const summary = await conclude({
      ...setup,
      outcome,
      named,
      startedAt,
      isResumed: !opened.isNew,
      problems,
    });
    hasEnded = summary.status !== 'incomplete' || isCompleted || outcome?.endedAs != null;
    reporter.ended(summary);
    return summary;
  } finally {
    spool.close(hasEnded);
  }
}

/** Returns what tells apart two versions of a task or a scorer, as far as it can be seen from here. */
function sourceOf(given: EvaluateOptions['task'] | Scorer<unknown, unknown, unknown>): string {
  if (typeof given === 'function') return String(given);
  return 'hosted' in given ? given.hosted : `${given.name} ${String(given.score)}`;
}

/** Binds the spool to the experiment. Returns what the user should know before the run begins. */
function problemsOfStart({ experiment, isNew, kept, spool }: RunSetup, named: string | null): string[] {
  const { experiment_id, experiment_status, run_key, created_at } = experiment;
  const problems: string[] = [];
  const dropped = spool.bind(experiment_id);
  if (dropped > 0) problems.push(`Dropped ${plural(dropped, 'finished call')} of another experiment.`);
  if (experiment_status === 'completed') {
    problems.push(
      `The experiment with the run key ${run_key} was completed before, so no task was called. ` +
        'To run it again, use another runKey, or resume: false (--fresh).',
    );
    return problems;
  }
  if (!isNew) problems.push(`Continued the experiment with the run key ${run_key}.`);
  if (spool.left > 0)
    problems.push(`Took over ${plural(spool.left, 'finished call')} of an earlier process.`);
  if (named === null && kept + spool.left > 0) {
    const began = `${created_at.slice(0, 16).replace('T', ' ')} UTC`;
    problems.push(
      `Results from before this start: ${kept + spool.left}. The run began at ${began}. ` +
        'If the agent changed since, start a new run with --fresh (resume: false).',
    );
  }
  return problems;
}
