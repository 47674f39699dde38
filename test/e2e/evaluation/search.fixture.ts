import type { Answer, ApiClient } from '#testing';
import type { EvaluationWorkspace, Page } from './evaluation.harness';

export const DATASETS = '/eval/v1/datasets';
export const EXPERIMENTS = '/eval/v1/experiments';

/** Searches datasets or experiments, as a viewer by default. */
export const search = <View>(
  space: EvaluationWorkspace,
  of: string,
  body: Record<string, unknown>,
  caller: ApiClient = space.viewer,
): Promise<Answer<Page<View>>> => caller.post(`${of}/search`, body);
