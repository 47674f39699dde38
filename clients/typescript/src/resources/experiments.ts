import type { Pages } from '../api/calls.cjs';
import type { Comparison, Dataset, Experiment, Gate, GateResult, GateRule } from '../api/types.cjs';
import { type ListOf, Resource } from './resource.js';

/** Experiments: runs of an agent over the cases of a dataset. `evaluate` makes them. */
export class Experiments extends Resource {
  /** Lists the experiments of the workspace, newest first. `name` is the name of the evaluation. */
  list(filters: ListOf<'listExperiments'> = {}): Pages<Experiment> {
    return this.api.listExperiments(filters);
  }

  /** Returns an experiment with its coverage and scores. Throws 404 if there is none. */
  get(experimentId: string): Promise<Experiment> {
    return this.api.getExperiment({ experiment_id: experimentId });
  }

  /** Compares an experiment with a baseline: by default its own, else the promoted one. The worst regressions come first. */
  compare(
    experimentId: string,
    {
      baseline,
      ...options
    }: ListOf<'compareExperiments', 'experiment_id' | 'baseline_experiment_id'> & { baseline?: string } = {},
  ): Promise<Comparison> {
    const named = baseline === undefined ? {} : { baseline_experiment_id: baseline };
    return this.api.compareExperiments({ ...options, ...named, experiment_id: experimentId });
  }

  /** Checks an experiment against rules. Read `passed`: a gate that fails does not throw. */
  gate(
    experimentId: string,
    rules: GateRule[],
    {
      baseline,
      ...options
    }: Omit<Gate, 'rules' | 'baseline_experiment_id' | 'workspace_id'> & { baseline?: string } = {},
  ): Promise<GateResult> {
    const named = baseline === undefined ? {} : { baseline_experiment_id: baseline };
    return this.api.checkGate({ experiment_id: experimentId, body: { ...options, ...named, rules } });
  }

  /**
   * Makes a completed experiment the baseline of its evaluation: later experiments with its name and dataset are compared
   * with it.
   */
  async promote(experimentId: string): Promise<Dataset> {
    const { dataset_id, name } = await this.get(experimentId);
    if (dataset_id === null)
      throw new TypeError(`${experimentId} has no dataset, so it cannot be its baseline.`);
    return this.api.updateDataset({ dataset_id, body: { baselines: { [name]: experimentId } } });
  }
}
