import type { RequestOptions } from '../api/calls.cjs';
import type { Experiment } from '../api/types.cjs';
import type { Client } from '../client.js';

/**
 * Releases the run key of an experiment, so that a new one can have it: marks a running one as failed, and archives a completed
 * one. Throws if it is a baseline, because later runs are compared with it.
 */
export async function releaseRunKey(
  client: Client,
  experiment: Experiment,
  requests: RequestOptions,
): Promise<void> {
  const { experiment_id, experiment_status, dataset_id, run_key } = experiment;
  if (experiment_status === 'running') {
    const body = {
      experiment_status: 'failed' as const,
      error: 'Started over with resume: false (--fresh).',
    };
    await client.api.updateExperiment({ experiment_id, body }, requests);
    return;
  }
  const baselines =
    dataset_id === null ? {} : (await client.api.getDataset({ dataset_id }, requests)).baselines;
  if (Object.values(baselines).includes(experiment_id)) {
    throw new Error(
      `The experiment ${experiment_id} with the run key ${run_key} is a baseline, so it is not replaced. Use another run key.`,
    );
  }
  await client.api.archiveExperiment({ experiment_id }, requests);
}
