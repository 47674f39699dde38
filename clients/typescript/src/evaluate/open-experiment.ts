import type { Experiment } from '../api/types.cjs';
import type { RequestOptions } from '../api/calls.cjs';
import type { Client } from '../client.js';
import type { ReadData } from './data.js';
import type { EvaluateOptions } from './options.js';
import { releaseRunKey } from './start-over.js';

/** The experiment of a run. */
export interface OpenExperiment {
  experiment: Experiment;
  /** Whether this process has created it. */
  isNew: boolean;
  /** Number of successful results that it had before. */
  kept: number;
}

/** Thrown if another run changed the records between their import and the creation of the experiment. */
export class RecordsChangedError extends Error {
  override name = 'RecordsChangedError';
}

/**
 * Continues the experiment that has the run key, or uploads the data and creates one. Throws if the run that it would continue has
 * other cases or settings, and if another run has just changed its records.
 */
export async function openExperiment(
  client: Client,
  options: EvaluateOptions,
  runKey: string,
  data: ReadData,
  requests: RequestOptions,
): Promise<OpenExperiment> {
  const {
    name,
    experimentName = name,
    trials = 1,
    config = {},
    subject = null,
    metadata,
    tags,
    baseline,
    resume = true,
  } = options;
  const found = await findExperiment(client, { name, experimentName, runKey }, requests);
  const existing = resume ? found : undefined;
  if (existing) checkSameData(existing, data);
  // the records of a run that continues are not written again: it has their versions of its start
  const isPinned = existing !== undefined && data.isRecords;
  const { pinned, versions } = isPinned
    ? { pinned: pinnedBy(existing), versions: null }
    : await data.upload(client, requests);
  if (found && !resume) await releaseRunKey(client, found, requests);
  const { data: experiment, response } = await client.api
    .createExperiment(
      {
        body: {
          name,
          experiment_name: experimentName,
          run_key: runKey,
          resume,
          trials,
          ...pinned,
          // null and {} as well, because the service compares only what it gets with the run to continue
          config,
          subject_kind: subject?.kind ?? null,
          subject_id: subject?.id ?? null,
          ...(tags && { tags: [...tags] }),
          ...(baseline !== undefined && { baseline_experiment_id: baseline }),
          metadata: { ...metadata, ...(data.isRecords && { data_sha256: data.digest }) },
        },
      },
      requests,
    )
    .withResponse();
  const isNew = response.status === 201;
  if (!isNew) checkSameData(experiment, data);
  else if (versions) await checkVersions(client, experiment, versions, requests);
  return { experiment, isNew, kept: isNew ? 0 : await countResults(client, experiment, requests) };
}

async function countResults(
  client: Client,
  { experiment_id }: Experiment,
  requests: RequestOptions,
): Promise<number> {
  const { page } = await client.api.listResults({ experiment_id, has_error: false, limit: 0 }, requests);
  return page.total ?? 0;
}

/**
 * Rejects if the experiment has pinned other versions of the records, before the task is called for any of them. Then marks it
 * as failed, which releases its run key.
 */
async function checkVersions(
  client: Client,
  { experiment_id }: Experiment,
  versions: ReadonlyMap<string, number>,
  requests: RequestOptions,
): Promise<void> {
  const cases = client.api.listExperimentCases({ experiment_id, limit: 500, total: false }, requests);
  for await (const { case_id, dataset_record_id, dataset_record_version } of cases) {
    if (versions.get(dataset_record_id ?? '') === dataset_record_version) continue;
    const error = `Another run changed the record ${case_id} while this one was created. Run it again.`;
    const body = { experiment_status: 'failed' as const, error };
    await client.api.updateExperiment({ experiment_id, body }, requests);
    throw new RecordsChangedError(error);
  }
}

async function findExperiment(
  client: Client,
  { name, experimentName, runKey }: { name: string; experimentName: string; runKey: string },
  requests: RequestOptions,
): Promise<Experiment | undefined> {
  for await (const experiment of client.api.listExperiments({ name, run_key: runKey }, requests)) {
    if (experiment.experiment_name === experimentName && experiment.experiment_status !== 'failed')
      return experiment;
  }
  return undefined;
}

function checkSameData(experiment: Experiment, data: ReadData): void {
  const { experiment_id, run_key, metadata } = experiment;
  if (!data.isRecords || metadata['data_sha256'] === data.digest) return;
  throw new Error(
    `The experiment ${experiment_id} with the run key ${run_key} has other cases than your data has now. ` +
      'Run it with the same data, or with another runKey, or with resume: false.',
  );
}

const pinnedBy = ({ dataset_id, dataset_version, dataset_filter }: Experiment) => ({
  dataset_id: dataset_id!,
  ...(dataset_version !== null && { dataset_version }),
  ...(dataset_filter && { dataset_filter }),
});
