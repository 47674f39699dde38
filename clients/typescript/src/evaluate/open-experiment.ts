import type { Experiment } from '../api/types.cjs';
import type { Client } from '../client.js';
import type { ReadData } from './data.js';
import type { EvaluateOptions } from './options.js';

/** The experiment of a run. */
export interface OpenExperiment {
  experiment: Experiment;
  /** Whether this process has created it. */
  isNew: boolean;
  /** The versions of the records that this process has just written, if it created the experiment. */
  versions: ReadonlyMap<string, number> | null;
}

/**
 * Continues the experiment that has the run key, or uploads the data and creates one. Throws if the run that it would continue has
 * other cases or settings.
 */
export async function openExperiment(
  client: Client,
  options: EvaluateOptions,
  runKey: string,
  data: ReadData,
): Promise<OpenExperiment> {
  const {
    name,
    experimentName = name,
    trials = 1,
    config,
    subject,
    metadata,
    tags,
    baseline,
    resume = true,
  } = options;
  const existing = resume ? await findExperiment(client, name, experimentName, runKey) : undefined;
  if (existing) checkSameData(existing, data);
  // the records of a run that continues are not written again: it has their versions of its start
  const isPinned = existing !== undefined && data.isRecords;
  const { pinned, versions } = isPinned
    ? { pinned: pinnedBy(existing), versions: null }
    : await data.upload(client);
  const { data: experiment, response } = await client.api
    .createExperiment({
      body: {
        name,
        experiment_name: experimentName,
        run_key: runKey,
        resume,
        trials,
        ...pinned,
        ...(config && { config }),
        ...(subject && { subject_kind: subject.kind, subject_id: subject.id }),
        ...(tags && { tags: [...tags] }),
        ...(baseline !== undefined && { baseline_experiment_id: baseline }),
        metadata: { ...metadata, ...(data.isRecords && { data_sha256: data.digest }) },
      },
    })
    .withResponse();
  const isNew = response.status === 201;
  if (!isNew) checkSameData(experiment, data);
  return { experiment, isNew, versions: isNew ? versions : null };
}

async function findExperiment(
  client: Client,
  name: string,
  experimentName: string,
  runKey: string,
): Promise<Experiment | undefined> {
  for await (const experiment of client.api.listExperiments({ name, run_key: runKey })) {
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
